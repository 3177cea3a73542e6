"""How the fake API server may misbehave, as values that a test hands to `ApiServer.misbehave`."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with an HTTP status and a Kubernetes Status object; `name` is the object that it is about."""

    status: int
    reason: str = ""
    message: str = ""
    retry_after: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Delay:
    """Answer rightly, that many seconds late."""

    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """Answer rightly once `gate` is set, or the server stops."""

    gate: threading.Event


@dataclass(frozen=True, slots=True)
class Drop:
    """Close the connection without an answer."""


@dataclass(frozen=True, slots=True)
class HalfAnswer:
    """Send the headers and half the body, then close our half of the connection."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Take the request and never answer."""


@dataclass(frozen=True, slots=True)
class Drip:
    """Send the headers, and a byte of the body from time to time, for ever."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Answer 200 with a body that is not what was asked for."""

    body: bytes = b"<html>a proxy's login page</html>"


Fault = Refuse | Delay | Hold | Drop | HalfAnswer | Silence | Drip | Garbage


class WatchEnd(StrEnum):
    """How open watches end on command."""

    ORDERLY = "orderly"
    """The server ends the stream, as it does when the time is up."""
    DROP = "drop"
    """The connection closes in the middle of the stream."""
    HALF_CLOSE = "half-close"
    """The server closes only its sending half, without the end of the stream."""
    EXPIRED = "expired"
    """An error event says that the resource version is too old."""
    GARBAGE = "garbage"
    """A line that is no event, then the connection closes."""
