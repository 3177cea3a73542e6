"""The open ListAndWatch streams of one resource, and how far each of them has got."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from device_plugin.plugin_api.phases import OpenStream

MOST = 24
"""How many streams may be open at once. A kubelet has one; each of them occupies a thread."""


@dataclass(slots=True, kw_only=True)
class _Stream:
    """An open stream: how to end it, and which version of the list it handed over last, and first when."""

    end: Callable[[], object]
    cut: Callable[[], object]
    onlooker: bool
    sent: int = 0
    taken: float | None = None


class Streams:
    """Counts streams; any thread may use it.

    `changed` is called, outside any lock, when one opens or ends, and when its first list was taken.
    """

    def __init__(
        self, changed: Callable[[], object] = lambda: None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._changed = changed
        self._clock = clock
        self._condition = threading.Condition()
        self._numbers = 0
        self._opened = 0
        self._streams: dict[int, _Stream] = {}

    @property
    def opened(self) -> int:
        """The number of the last stream that may be the kubelet's; 0 before there was any."""
        with self._condition:
            return self._opened

    @property
    def open(self) -> tuple[OpenStream, ...]:
        """The streams that are open now and may be the kubelet's, in the order in which they were opened."""
        with self._condition:
            return tuple(
                OpenStream(number, stream.taken) for number, stream in self._streams.items() if not stream.onlooker
            )

    def is_open(self, number: int) -> bool:
        """Tell whether a stream is open now."""
        with self._condition:
            return number in self._streams

    def begin(self, end: Callable[[], object], cut: Callable[[], object], *, onlooker: bool = False) -> int | None:
        """Count a new stream and return its number; None when there are too many.

        `end` ends it once it has handed over what it is at, `cut` at once. An `onlooker` is certainly not the kubelet.
        """
        with self._condition:
            if len(self._streams) >= MOST:
                return None
            self._numbers += 1
            number = self._numbers
            self._streams[number] = _Stream(end=end, cut=cut, onlooker=onlooker)
            if not onlooker:
                self._opened = number
        self._changed()
        return number

    def sent(self, number: int, version: int) -> None:
        """Note that a stream has handed over a version of the list."""
        with self._condition:
            stream = self._streams[number]
            first = stream.taken is None
            stream.sent, stream.taken = version, self._clock() if stream.taken is None else stream.taken
            self._condition.notify_all()
        if first:
            self._changed()

    def end(self, number: int) -> None:
        """Forget a stream."""
        with self._condition:
            self._streams.pop(number, None)
            self._condition.notify_all()
        self._changed()

    def end_all(self) -> None:
        """Let every stream that is open now end; those that open meanwhile stay."""
        with self._condition:
            streams = tuple(self._streams.values())
        for stream in streams:
            stream.end()

    def cut(self, number: int) -> None:
        """End one stream at once, also while its other side does not read."""
        with self._condition:
            stream = self._streams.get(number)
        if stream is not None:
            stream.cut()

    def wait_sent(self, version: int, timeout: float) -> bool:
        """Wait until every open stream has handed over this version or a later one; tell whether they have."""
        with self._condition:
            return self._condition.wait_for(
                lambda: all(stream.sent >= version for stream in self._streams.values()), timeout
            )
