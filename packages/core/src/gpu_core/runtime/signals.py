"""Turns signals into events: SIGHUP reloads; SIGINT, SIGTERM and SIGQUIT end the program."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from gpu_core.runtime.events import Reload, Stop
from gpu_core.runtime.held_signals import ANSWERED, release_signals


class Sink(Protocol):
    """Takes events, also from within a signal handler that interrupts it, as EventQueue and SimpleQueue do."""

    def put(self, event: Reload | Stop, /) -> object:
        """Add an event; never waits."""


@contextmanager
def signals_to(events: Sink) -> Iterator[None]:
    """Put an event for every signal, those held back first, while the block runs; then the former handlers return."""

    def handle(number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        events.put(Reload(name) if number == signal.SIGHUP else Stop(name))

    former = {number: signal.signal(number, handle) for number in ANSWERED}
    try:
        release_signals()
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
