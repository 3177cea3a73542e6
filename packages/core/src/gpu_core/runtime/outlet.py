"""Standard error, or output, that nobody waits for: what is written is queued, and a thread of its own writes it on.

Whoever reads it may have stopped, gone, or never have been there. That must not keep a program from its work, nor
change how it ends. What does not fit into the queue is lost, counted, and told of in one line where it would have been.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

MOST = 1 << 20
"""Bytes that are kept for a reader."""

END = 1.0
"""Seconds that a reader has at the end for what is left."""

_MOMENT = 0.05
"""Seconds that a writer waits for its own line to be out, as long as lines go out in less.

So what is written just before a crash is seen, and what is written to two streams comes in its order.
"""

_LAST_STANDARD = 2

StreamName = Literal["stdout", "stderr"]


@contextlib.contextmanager
def nobody_waits_for(name: StreamName) -> Iterator[None]:
    """Have what is written to a standard stream queued while the block runs; at its end, wait a little for the rest.

    A stream that was closed takes everything and passes it on to nobody. One that is not the process's own stays as
    it is: who put it there wants to have what is written at once.
    """
    _fill_gaps()
    stream = getattr(sys, name)
    if stream is None:
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  for as long as we run
        yield
        return
    descriptor = _descriptor(stream)
    if descriptor is None:
        yield
        return
    outlet = Outlet(descriptor)
    text = io.TextIOWrapper(outlet, encoding=stream.encoding, errors="backslashreplace", write_through=True)  # type: ignore[type-var]
    setattr(sys, name, text)
    try:
        yield
    finally:
        outlet.end()
        setattr(sys, name, stream)


def outlet_of(stream: object) -> Outlet | None:
    """Return the outlet behind a text stream, if it has one."""
    buffer = getattr(stream, "buffer", None)
    return buffer if isinstance(buffer, Outlet) else None


def lost_lines() -> dict[str, int]:
    """Return how many lines of each standard stream were lost; of those without an outlet none are."""
    outlets = {name: outlet_of(getattr(sys, name)) for name in ("stdout", "stderr")}
    return {name: 0 if outlet is None else outlet.lost for name, outlet in outlets.items()}


class Outlet(io.RawIOBase):
    """A binary stream over a descriptor, which it leaves open; any thread may write, and none is told of failures.

    `notice` makes the line that tells how many lines were lost.
    """

    def __init__(self, descriptor: int, *, most: int = MOST) -> None:
        super().__init__()
        self.lost = 0
        """Lines that were not written, since the beginning."""
        self.notice: Callable[[int], str] = _notice
        self._descriptor = descriptor
        self._most = most
        # The queue and all numbers belong to its lock; whoever writes them on holds the other one as well.
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._queue: deque[bytes] = deque()
        self._size = 0
        self._taken = 0
        self._written = 0
        # How many lines were lost since the last notice: for want of room, and because writing failed.
        self._refused = 0
        self._failed = 0
        self._slow = False
        self._ended = False
        self._thread: threading.Thread | None = None

    def writable(self) -> bool:
        """Say so; it is for nothing else."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether a person may be there to read."""
        return os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Take all of it, or lose it."""
        chunk = bytes(data)
        with self._changed:
            # Once something was lost, there is room for a notice and much more before anything is taken again.
            if self._refused or (self._queue and self._size + len(chunk) > self._most):
                self._refused += _lines(chunk)
                self.lost += _lines(chunk)
                return len(chunk)
            number = self._take(chunk)
            has_thread = self._has_thread()
            if has_thread and not self._slow and len(self._queue) == 1:
                self._changed.wait_for(lambda: self._written >= number, _MOMENT)
        while not has_thread and self._write_next():
            # The kernel has no room for a thread. To wait is better than to say nothing.
            pass
        return len(chunk)

    def end(self, seconds: float = END) -> bool:
        """Wait until all is written, at most so many seconds; returns whether it is. What comes later is taken too."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._queue, seconds)

    def _take(self, chunk: bytes) -> int:
        self._queue.append(chunk)
        self._size += len(chunk)
        self._taken += 1
        self._changed.notify_all()
        return self._taken

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="outlet", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._ended)
                if not self._queue:
                    self._thread = None
                    return
            self._write_next()

    def _notice_of(self, lost: int) -> bytes:
        try:
            return self.notice(lost).encode()
        except Exception:  # noqa: BLE001  Whatever is wrong with how it is laid out, the lines that follow must go on.
            return _notice(lost).encode()

    def _write_next(self) -> bool:
        """Write the oldest chunk, which may take for ever; returns whether there was one."""
        with self._writing:
            with self._changed:
                if not self._queue:
                    return False
                chunk = self._queue[0]
                before = self._notice_of(self._failed) if self._failed else b""
            began = time.monotonic()
            out = _written(self._descriptor, before + chunk)
            with self._changed:
                self._queue.popleft()
                self._size -= len(chunk)
                self._written += 1
                self._slow = time.monotonic() - began > _MOMENT
                self._failed = 0 if out else self._failed + _lines(chunk)
                self.lost += 0 if out else _lines(chunk)
                if self._refused and self._size <= self._most // 2:
                    # Nothing was taken since the first was lost, so this is the place where they would be.
                    self._take(self._notice_of(self._refused))
                    self._refused = 0
                self._changed.notify_all()
        return True


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however long that takes. Raises OSError."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            # Whoever shares the other end has made it so.
            writable = select.poll()
            writable.register(descriptor, select.POLLOUT)
            writable.poll()


def _written(descriptor: int, data: bytes) -> bool:
    """Write all of it; returns whether that succeeded."""
    try:
        write_all(descriptor, data)
    except OSError:
        return False
    return True


def _fill_gaps() -> None:
    """Open what was closed of the first three descriptors, or another file would be taken for a standard stream."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        pass
    os.close(descriptor)


def _descriptor(stream: Any) -> int | None:
    try:
        return int(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def _lines(chunk: bytes) -> int:
    return max(1, chunk.count(b"\n"))


def _notice(count: int) -> str:
    return f"{count} lines were lost here, as nobody took them.\n"
