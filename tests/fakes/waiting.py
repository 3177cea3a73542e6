"""Waiting for what a process does, on however busy a machine."""

from __future__ import annotations

import time
from collections.abc import Callable

from fakes.patience import PATIENCE


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition is true; `what` is missing if it never is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)
