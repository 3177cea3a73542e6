"""Signals that come while a program starts, in a process of its own for each."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SIGNALS = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT]

# A program whose parts take long to import: the signal arrives in the middle of that.
_STARTING = """
import os, sys
from gpu_core.runtime.held_signals import hold_signals, release_signals
hold_signals()
os.kill(os.getpid(), int(sys.argv[1]))
from gpu_core.runtime.supervise import EventQueue
from gpu_core.runtime.signals import signals_to
"""


def started(program: str, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _STARTING + program, str(int(number))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", SIGNALS)
def test_what_was_held_back_is_answered_as_soon_as_there_is_somebody_to(number: signal.Signals) -> None:
    done = started("events = EventQueue()\nwith signals_to(events): print(*events.take(30))", number)
    kind = "Reload" if number == signal.SIGHUP else "Stop"
    assert (done.returncode, done.stdout) == (0, f"{kind}(reason='{number.name}')\n")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT])
def test_what_was_held_back_ends_what_answers_no_signals(number: signal.Signals) -> None:
    done = started("print('starting', flush=True)\nrelease_signals()\nprint('went on')", number)
    assert (done.returncode, done.stdout) == (-number, "starting\n")
