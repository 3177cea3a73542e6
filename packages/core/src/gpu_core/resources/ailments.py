"""What can be wrong with a device, and how a change of its health is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """Why a GPU or MIG device is sick; each goes away on evidence of its own.

    An XID goes when the driver asks for no recovery, or never. Silence (no answer to a probe), blindness (its events
    cannot be watched) and a recovery action that the driver asks for go when they have ended. These four also take
    quiet time. What could not be read goes as soon as it can be read, what MPS cannot share as soon as it can.
    """

    XID = "xid"
    SILENT = "silent"
    UNWATCHED = "unwatched"
    ACTION = "action"
    UNREADABLE = "unreadable"
    MPS = "mps"


HARM = frozenset(Cause) - {Cause.UNREADABLE, Cause.UNWATCHED}
"""What a GPU that is served whole suffers from together with a MIG device of it.

Whoever gets the whole GPU needs no single MIG device to be found or read, and all its events come through the GPU.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ailment:
    """One thing that is wrong, in words that follow "because", and since when (seconds of the caller's clock).

    `advice` is what helps, in whole sentences.
    """

    cause: Cause
    reason: str
    since: float
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceHealth:
    """The health of one device: why it is unhealthy and what helps, or why it is healthy again, and since when.

    `cause` is what made it unhealthy first, in one word; empty while it is healthy.
    """

    healthy: bool
    reason: str
    since: float
    cause: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A GPU or MIG device whose own health changed.

    The MIG devices of a GPU change with it and are not told apart. `cause` is what made it unhealthy, also when it is
    healthy again; `advice` is what helps, empty then.
    """

    uuid: str
    healthy: bool
    cause: Cause
    reason: str
    at: float
    advice: str = ""
