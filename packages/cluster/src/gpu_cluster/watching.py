"""A watch: the stream of changes to a collection, as values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

from gpu_cluster.documents import decoded, is_object
from gpu_cluster.errors import UnreachableError, from_status


class EventType(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing; the object carries only the resource version that the next watch may start from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """One change. `object` is the whole object, or for a bookmark only its metadata."""

    type: EventType
    object: dict[str, Any]

    @property
    def resource_version(self) -> str:
        """The version to go on from after this event."""
        version: str = self.object["metadata"].get("resourceVersion", "")
        return version


def parse_event(request: str, line: str) -> WatchEvent:
    """Read one line of a watch. Raises ExpiredError or ApiError for the server's error event, or for a broken line."""
    broken = f"The API server sent a broken line for {request}: {line[:80]!r}"
    try:
        document = decoded(line)
        kind, content = document["type"], document["object"]
        if kind == "ERROR":
            raise from_status(request, content, code=int(content.get("code") or 500))
        type_ = EventType(kind)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UnreachableError(broken, status=0) from error
    if not is_object(content):
        raise UnreachableError(broken, status=0)
    return WatchEvent(type=type_, object=content)


class WatchStream:
    """An open watch. Iterate in one thread; `close` may be called from another and ends the iteration.

    The iteration ends when the server ends the watch in good order, which it does every few minutes. It raises
    ExpiredError when the resource version is too old, and UnreachableError when the connection broke.
    """

    def __init__(self, request: str, response: Any) -> None:
        self._request = request
        self._response = response
        self._closed = False

    def __iter__(self) -> Iterator[WatchEvent]:
        import urllib3.exceptions  # noqa: PLC0415
        from kubernetes.watch.watch import iter_resp_lines  # noqa: PLC0415

        try:
            for line in iter_resp_lines(self._response):
                if line:
                    yield parse_event(self._request, line)
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
            # A response that another thread closes fails in as many ways as it has layers.
            if not self._closed:
                raise UnreachableError(f"The watch {self._request} broke off: {error}", status=0) from error
        finally:
            self._response.close()

    def close(self) -> None:
        """End the watch; an iteration that waits in another thread returns."""
        self._closed = True
        # Nothing is left to shut down when the stream has ended by itself.
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            self._response.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._response.close()
