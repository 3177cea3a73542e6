"""What can go wrong with a request, as exceptions a caller can tell apart without reading messages. Pure.

ClusterError (gpu_core)
└── ApiError                  any answer that is not a success
    ├── UnreachableError      no answer: refused, dropped, timed out, TLS
    ├── UnauthorizedError     401
    ├── ForbiddenError        403
    ├── NotFoundError         404
    │   └── MissingKindError  404 for a kind of object that the cluster does not have
    ├── ConflictError         409
    ├── ExpiredError          410: the resource version is too old, list again
    └── InvalidError          422: the object breaks a rule of its kind

Here, and nowhere else, stands which failures pass by themselves (`passing`) and which do not (`lasting`), and how long
to wait after each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gpu_cluster.documents import decoded
from gpu_core.errors import ClusterError
from gpu_core.runtime.pause import Pause, Retry

_PASSING = frozenset({0, 409, 410, 429})

# No 400: a watch is answered so when its version is unknown, and goes on after another list.
_LASTING = frozenset({403, 405, 406, 413, 415, 422, 501})

_LONGEST_WISH = 300.0
"""Seconds that a server may ask to be left alone for; who asks for more cannot mean it."""

_LONGEST_MESSAGE = 1000
"""Characters of a server's message that are passed on."""

_LASTING_FIRST, _LASTING_LONGEST = 40.0, 10.0
"""How many times longer the first and the longest pause are for what waiting cannot change."""


class ApiError(ClusterError):
    """The API server refused a request or could not answer it.

    `status` is the HTTP status, 0 where there was no answer; `reason` is the machine-readable word of the
    Kubernetes Status object (`NotFound`, `Conflict`, `Expired`, …), empty where none came; `retry_after` is
    how many seconds the server asks to be left alone, None where it did not say.
    """

    def __init__(self, message: str, *, status: int, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed seconds later: no answer, a conflict, an overloaded server."""
        return self.status in _PASSING or (self.status >= 500 and not self.lasting)

    @property
    def lasting(self) -> bool:
        """Whether waiting cannot change it: somebody has to grant, install or correct something first."""
        return self.status in _LASTING


class Backoff:
    """How long to wait after failures in a row, in seconds; half of it is `chance`, a number from 0 up to 1.

    What waiting cannot change has longer pauses of its own, from half a minute to five: it may be changed while we run,
    and asking costs the API server something.
    """

    def __init__(self, *, chance: Callable[[], float], first: float = 0.8, longest: float = 30.0) -> None:
        lasting = Pause(first=_LASTING_FIRST * first, longest=_LASTING_LONGEST * longest)
        self._passing = Retry(pause=Pause(first=first, longest=longest), chance=chance)
        self._lasting = Retry(pause=lasting, chance=chance)

    def after(self, error: Exception) -> float:
        """Count a failure and return how long to wait: at least half the step, and never less than asked for."""
        if not isinstance(error, ApiError):
            return self._passing.failed()
        return (self._lasting if error.lasting else self._passing).failed(error.retry_after)

    def reset(self) -> None:
        """Forget the failures, after a success that lasted."""
        self._passing.succeeded()
        self._lasting.succeeded()


class UnreachableError(ApiError):
    """The API server gave no answer."""


class UnauthorizedError(ApiError):
    """The token or certificate is not accepted."""


class ForbiddenError(ApiError):
    """The service account lacks a permission."""


class NotFoundError(ApiError):
    """The object does not exist, or it cannot be told from the answer what does not."""


class MissingKindError(NotFoundError):
    """The cluster has no such kind of object: nobody installed what defines it."""

    @property
    def lasting(self) -> bool:
        """Whether waiting cannot change it, which is so."""
        return True


class ConflictError(ApiError):
    """The object exists already, or was changed since it was read."""


class ExpiredError(ApiError):
    """The resource version is too old to go on from; list again."""


class InvalidError(ApiError):
    """The object breaks a rule of its kind, or of the API."""


_CLASSES: Mapping[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    422: InvalidError,
}

_NEXT_STEPS: Mapping[int, str] = {
    401: "Check the service account's token.",
    403: "Check the role that is bound to the service account.",
    422: "Correct what is named there.",
}


def from_status(request: str, status: Mapping[str, Any], *, code: int, retry_after: float | None = None) -> ApiError:
    """Return the error for a Kubernetes Status object; `request` says what was asked, as in `GET /api/v1/nodes/a`."""
    text = str(status.get("message") or status.get("reason") or "no reason was given")
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."
    details = status.get("details")
    if retry_after is None and isinstance(details, Mapping):
        retry_after = _bounded(details.get("retryAfterSeconds"))
    message = f"The API server answered {request} with {code}: {text.rstrip('.')}. {_NEXT_STEPS.get(code, '')}".rstrip()
    kind = MissingKindError if code == 404 and not _named(details) else _CLASSES.get(code, ApiError)
    return kind(message, status=code, reason=str(status.get("reason") or ""), retry_after=retry_after)


def _named(details: Any) -> bool:
    """Whether a 404 names the object that is missing; for an unknown kind there is a bare page, or no name in it."""
    return isinstance(details, Mapping) and bool(details.get("name"))


def from_response(request: str, *, code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Return the error for an HTTP answer, whether a Kubernetes Status object or a proxy's page came with it."""
    try:
        status = decoded(body)
    except ValueError:
        status = None
    if not isinstance(status, dict):
        text = body[:200].decode(errors="replace").strip()
        status = {"message": text}
    return from_status(request, status, code=code, retry_after=_seconds(headers.get("Retry-After")))


def _seconds(value: str | None) -> float | None:
    """Read a Retry-After header; the API server always sends seconds, a date is treated as absent."""
    if value is None:
        return None
    text = value.strip()
    return _bounded(float(text)) if text.isdecimal() else None


def _bounded(seconds: Any) -> float | None:
    """Take what a server asks for; no more than it can mean, and nothing for what is no number of seconds."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        return None
    return float(min(seconds, _LONGEST_WISH))
