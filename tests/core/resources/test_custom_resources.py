"""Names and numbers of the user's own choice, with customResources."""

from __future__ import annotations

from typing import Any

import pytest

from core.resources.advertising import PARTED, THREE, advertised
from core.resources.asking import entry, time_slicing
from core.resources.building import node_of, whole_gpu
from gpu_core.config.model import ResourcePattern
from gpu_core.devices.model import Inventory, Platform

T4 = ResourcePattern(pattern="Tesla T4", name="nvidia.com/t4")


@pytest.mark.parametrize(
    ("node", "asked", "resources"),
    [
        pytest.param(
            THREE, {"gpus": (T4,)}, {"nvidia.com/gpu": ["GPU-1"], "nvidia.com/t4": ["GPU-0", "GPU-2"]}, id="by model"
        ),
        pytest.param(
            THREE,
            {"gpus": (ResourcePattern(pattern="Tesla*", name="nvidia.com/small"), T4)},
            {"nvidia.com/gpu": ["GPU-1"], "nvidia.com/small": ["GPU-0", "GPU-2"]},
            id="by the first pattern that fits",
        ),
        pytest.param(
            PARTED,
            {"mig": "mixed", "parts": (ResourcePattern(pattern="1g.*", name="nvidia.com/tiny"),)},
            {
                "nvidia.com/gpu": ["GPU-1"],
                "nvidia.com/mig-2g.10gb": ["MIG-0-2"],
                "nvidia.com/tiny": ["MIG-0-0", "MIG-0-1"],
            },
            id="by MIG profile",
        ),
        pytest.param(
            node_of(whole_gpu(0, name="NVIDIA GeForce"), platform=Platform.WSL),
            {"gpus": (ResourcePattern(pattern="*GeForce*", name="nvidia.com/desk"),)},
            {"nvidia.com/desk": ["all"]},
            id="by model on WSL",
        ),
        pytest.param(
            node_of(platform=Platform.TEGRA),
            {"gpus": (ResourcePattern(pattern="tegra", name="nvidia.com/jetson"),)},
            {"nvidia.com/jetson": ["tegra"]},
            id="by the word tegra",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry(rename="nvidia.com/slice"))},
            {"nvidia.com/slice": [f"GPU-{gpu}::{share}" for gpu in range(3) for share in range(2)]},
            id="under another name",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry(devices=1, rename="nvidia.com/slice"))},
            {"nvidia.com/gpu": ["GPU-1", "GPU-2"], "nvidia.com/slice": ["GPU-0::0", "GPU-0::1"]},
            id="one shared, the others whole beside it",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry(devices=("GPU-2",)))},
            {"nvidia.com/gpu": ["GPU-0", "GPU-1", "GPU-2::0", "GPU-2::1"]},
            id="shared and whole under one name",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry(devices=("2", "0")), entry(devices=("1",), replicas=3))},
            {"nvidia.com/gpu": ["GPU-0::0", "GPU-0::1", "GPU-1::0", "GPU-1::1", "GPU-1::2", "GPU-2::0", "GPU-2::1"]},
            id="each in its own number of parts",
        ),
        pytest.param(
            PARTED,
            {"mig": "mixed", "sharing": time_slicing(entry("nvidia.com/mig-1g.5gb", devices=("0:1",)))},
            {
                "nvidia.com/gpu": ["GPU-1"],
                "nvidia.com/mig-1g.5gb": ["MIG-0-0", "MIG-0-1::0", "MIG-0-1::1"],
                "nvidia.com/mig-2g.10gb": ["MIG-0-2"],
            },
            id="one MIG device by index",
        ),
    ],
)
def test_custom_resources_are_advertised(
    node: Inventory, asked: dict[str, Any], resources: dict[str, list[str]]
) -> None:
    assert advertised(node, custom=True, **asked) == resources
