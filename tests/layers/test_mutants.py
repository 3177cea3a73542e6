"""Which tests mutants are tried on, and which of them count as alive."""

from __future__ import annotations

import pytest
from mutants import fitting_tests, lived

from layers.tree import modules


@pytest.mark.parametrize(
    ("module", "some"),
    [
        pytest.param("gpu_core.mps.plan", {"tests/core/mps"}, id="those of its room"),
        pytest.param("gpu_core.mps.watch", {"tests/device_plugin/test_mps_watch.py"}, id="those that import it"),
        pytest.param("device_plugin.app", {"tests/device_plugin/test_changes.py"}, id="those that use it in a fake"),
        pytest.param("gpu_core.hardware.rounds", {"tests/core/hardware"}, id="those of the room of a part"),
    ],
)
def test_a_module_is_tried_on(module: str, some: set[str]) -> None:
    assert some <= set(fitting_tests(module, modules()[module]))


def test_mutants_that_no_test_has_run_or_noticed_are_alive() -> None:
    told = "    a.x__f__mutmut_1: survived\n    a.x__f__mutmut_2: timeout\n    a.x__g__mutmut_1: no tests\n"
    assert lived(told) == ["a.x__f__mutmut_1", "a.x__g__mutmut_1"]
