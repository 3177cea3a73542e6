"""Turns signals into events: SIGHUP reloads; SIGINT, SIGTERM and SIGQUIT end the program, within a time that holds.

Python runs a signal's handler in the main thread, when that comes round to it. The kernel gives a signal to any thread,
and nothing wakes a main thread that waits for its next rescan when another one took it. So the handlers here do
nothing. What counts is the number that Python's C code writes into a pipe at once, from whichever thread was
interrupted; a thread that does nothing else reads it and puts the event.

The other way would be to block all signals and to wait for them with sigtimedwait. But a mask is inherited by every
program that is started, by us or by a library (the Kubernetes client runs credential plugins), and such a program
could not be ended. A handler is given back by exec. A signal that is sent to one thread would wait there for ever, too.
"""

from __future__ import annotations

import math
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from gpu_core.runtime.ending import leave_late
from gpu_core.runtime.held_signals import ANSWERED
from gpu_core.runtime.supervise import Reload, Stop

SOON = 4.5
"""Seconds from the signal to the end at the latest, where 5 are promised."""

_END = 0
"""Tells the reading thread to end; no signal has this number."""

_KEPT_IGNORED = frozenset(
    {
        # Python ignores them for itself, and subprocess gives them back to what it starts.
        *(signal.SIGPIPE, signal.SIGXFSZ),
        # Who starts a program in the background may ignore them so that it is not stopped when it writes to a terminal.
        *(signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
    }
)


class Sink(Protocol):
    """Takes events from any thread, as EventQueue and SimpleQueue do."""

    def put(self, event: Reload | Stop, /) -> object:
        """Add an event; never waits."""


@contextmanager
def signals_to(events: Sink, *, within: float = SOON) -> Iterator[None]:
    """Put an event for every signal, those held back first, while the block runs. The main thread calls it.

    Once a signal has told the program to end, this lasts for the rest of the process: signals that follow end it no
    other way, and `within` seconds after the first, it ends whatever hangs.
    """
    reader = _Reader(events, within)
    former = {number: signal.signal(number, _do_nothing) for number in ANSWERED}
    for number in ANSWERED:
        # A driver's system calls go on after a signal, as if there had been none.
        signal.siginterrupt(number, False)
    former_descriptor = signal.set_wakeup_fd(reader.descriptor, warn_on_full_buffer=False)
    _forget_what_was_ignored()
    # All of them: whoever started us may have blocked others, and what we start would inherit that. Before the first
    # thread is there, which inherits it too.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    reader.start()
    try:
        yield
    finally:
        if reader.told_to_end:
            for number in ANSWERED:
                signal.signal(number, signal.SIG_IGN)
        else:
            signal.set_wakeup_fd(former_descriptor)
            for number, handler in former.items():
                signal.signal(number, handler)
            reader.stop()


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def _forget_what_was_ignored() -> None:
    # What we start would ignore the same, and could not be ended; and with SIGCHLD ignored nobody learns how it ended.
    for number in signal.valid_signals() - _KEPT_IGNORED:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


class _Reader:
    """Reads the numbers of signals in a thread of its own; once one of them ends the program, watches over the end."""

    def __init__(self, events: Sink, within: float) -> None:
        self.told_to_end = False
        self._events = events
        self._within = within
        self._out, self.descriptor = os.pipe()
        # A handler must not wait, whatever came of the reader.
        os.set_blocking(self.descriptor, False)
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        os.write(self.descriptor, bytes([_END]))
        self._thread.join()
        os.close(self._out)
        os.close(self.descriptor)

    def _run(self) -> None:
        readable = select.poll()
        readable.register(self._out, select.POLLIN)
        deadline = math.inf
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                leave_late(self._within)
            if not readable.poll(None if math.isinf(left) else left * 1000):
                continue
            for number in os.read(self._out, 512):
                if number == _END:
                    return
                if number not in ANSWERED:
                    # Of a handler that somebody else has set.
                    continue
                name = signal.Signals(number).name
                if number == signal.SIGHUP:
                    self._events.put(Reload(name))
                    continue
                if not self.told_to_end:
                    deadline = time.monotonic() + self._within
                    self.told_to_end = True
                self._events.put(Stop(name))
