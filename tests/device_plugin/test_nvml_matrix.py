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
from fakes.nvml_trials import called, run

_MANY = os.environ.get("NVML_TRIALS", "60")


ONCE_WRONG = (
    # It kept a core busy.
    Trial(node="whole", phase=Phase.ROUND, call="EventSetWait", target="*", kind="fail TIMEOUT"),
    # Its events were asked for no more.
    Trial(node="whole", phase=Phase.REWATCH, call="DeviceRegisterEvents", target="*", kind="once NOT_SUPPORTED"),
)


def sample() -> list[Trial]:
    """Return the trials to run, the same ones each time."""
    everything = list(trials())
    return everything if _MANY == "all" else [*ONCE_WRONG, *random.Random(7).sample(everything, int(_MANY))]


def test_no_call_that_the_plugin_makes_is_forgotten() -> None:
    assert frozenset().union(*(called(name, phase) for name in NODES for phase in Phase)) == CALLS


@pytest.mark.parametrize("trial", sample(), ids=str)
def test_what_fails_is_unhealthy_and_nothing_else_until_it_is_healed(trial: Trial) -> None:
    outcome = run(trial, seed=zlib.crc32(str(trial).encode()))
    assert list(violations(trial, outcome)) == [], outcome.log
