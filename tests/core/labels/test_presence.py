from __future__ import annotations

from dataclasses import replace

import pytest

from core.labels.building import FACTS, gpu, node
from gpu_core.devices.model import Gpu
from gpu_core.labels import presence

PRESENT = {"nvidia.com/gpu.present": "true"}


@pytest.mark.parametrize(
    ("shown", "gpus", "expected"),
    [
        pytest.param(None, (gpu(),), {}, id="nobody asked"),
        pytest.param(True, (), PRESENT, id="a GPU without a driver"),
        pytest.param(False, (gpu(),), PRESENT, id="a GPU that only the driver shows, as under Windows"),
        pytest.param(False, (), {}, id="no GPU"),
    ],
)
def test_presence(shown: bool | None, gpus: tuple[Gpu, ...], expected: dict[str, str]) -> None:
    assert presence.label(node(*gpus, facts=replace(FACTS, shows_gpu=shown))).values == expected
