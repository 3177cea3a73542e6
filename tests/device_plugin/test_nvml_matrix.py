"""A failing NVML, call by call: the plugin goes on, and only devices whose calls fail are unhealthy.

The suite runs a sample of the trials; with NVML_TRIALS=all it runs all of them. A failure names its trial.
"""

from __future__ import annotations

import os
import random
import zlib

import pytest

from fakes.nvml_laws import violations
from fakes.nvml_matrix import CALLS, NODES, Phase, Trial, trials
from fakes.nvml_trials import called, end, run

LETTING_GO = 2.0
"""Seconds that letting go of the driver takes at most, of the five in which the program has to have ended."""

_MANY = os.environ.get("NVML_TRIALS", "60")


ONCE_WRONG = (
    # It kept a core busy.
    Trial(node="whole", phase=Phase.ROUND, call="EventSetWait", target="*", kind="fail TIMEOUT"),
    # Its events were asked for no more.
    Trial(node="whole", phase=Phase.REWATCH, call="DeviceRegisterEvents", target="*", kind="once NOT_SUPPORTED"),
    # A MIG device was withdrawn for one wrong answer.
    Trial(node="mig", phase=Phase.SCAN, call="DeviceGetMigDeviceHandleByIndex", target="0", kind="once NOT_FOUND"),
)


def sample() -> list[Trial]:
    """Return the trials to run, the same ones each time."""
    everything = list(trials())
    return everything if _MANY == "all" else [*ONCE_WRONG, *random.Random(7).sample(everything, int(_MANY))]


def endings() -> list[Trial]:
    """Return those of the trials in which the program is told to end."""
    everything = [trial for trial in trials() if trial.kind.startswith(("hang", "late"))]
    return everything if _MANY == "all" else random.Random(8).sample(everything, int(_MANY) // 4)


def test_no_call_that_the_plugin_makes_is_forgotten() -> None:
    assert frozenset().union(*(called(name, phase) for name in NODES for phase in Phase)) == CALLS


@pytest.mark.parametrize("trial", sample(), ids=str)
def test_what_fails_is_unhealthy_and_nothing_else_until_it_is_healed(trial: Trial) -> None:
    outcome = run(trial, seed=zlib.crc32(str(trial).encode()))
    assert list(violations(trial, outcome)) == [], outcome.log


@pytest.mark.parametrize("trial", endings(), ids=str)
def test_the_program_ends_whatever_hangs(trial: Trial) -> None:
    took, errors = end(trial, seed=zlib.crc32(str(trial).encode()))
    assert took <= LETTING_GO
    assert errors == ()
