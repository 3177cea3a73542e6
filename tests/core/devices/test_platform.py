"""Through which interface a node is reached."""

from __future__ import annotations

import pytest

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.model import Platform
from gpu_core.devices.platform import PlatformFacts, choose_platform

AUTO = DeviceDiscoveryStrategy.AUTO


@pytest.mark.parametrize(
    ("facts", "platform"),
    [
        pytest.param({"nvml": True, "gpu_names": ("Tesla T4",)}, Platform.NVML, id="NVML loads"),
        pytest.param({"nvml": True, "gpu_names": ()}, Platform.NVML, id="NVML loads and there is no GPU"),
        pytest.param({"nvml": True}, Platform.NVML, id="NVML loads and does not start"),
        pytest.param({}, None, id="nothing is there"),
        pytest.param({"dxcore": True, "tegra": True, "nvml": True}, Platform.WSL, id="WSL before all else"),
        pytest.param({"tegra": True}, Platform.TEGRA, id="L4T without NVML"),
        pytest.param({"tegra": True, "nvml": True, "gpu_names": ("Tesla T4",)}, Platform.NVML, id="L4T, a card"),
        pytest.param({"nvml": True, "gpu_names": ("Orin (nvgpu)",)}, Platform.TEGRA, id="an integrated GPU"),
        pytest.param({"nvml": True, "gpu_names": ("NVIDIA Thor",)}, Platform.TEGRA, id="a Thor"),
        pytest.param(
            {"nvml": True, "gpu_names": ("Orin (nvgpu)", "NVIDIA RTX A6000")}, Platform.NVML, id="one of them a card"
        ),
    ],
)
def test_auto_finds(facts: dict[str, object], platform: Platform | None) -> None:
    known = PlatformFacts(**({"dxcore": False, "tegra": False, "nvml": False} | facts))  # type: ignore[arg-type]
    assert choose_platform(AUTO, known) == platform


@pytest.mark.parametrize(
    ("strategy", "platform"),
    [
        (DeviceDiscoveryStrategy.NVML, Platform.NVML),
        (DeviceDiscoveryStrategy.TEGRA, Platform.TEGRA),
        (DeviceDiscoveryStrategy.VFIO, Platform.VFIO),
    ],
)
def test_a_strategy_decides_against_all_marks(strategy: DeviceDiscoveryStrategy, platform: Platform) -> None:
    assert choose_platform(strategy, PlatformFacts(dxcore=True, tegra=True, nvml=False)) == platform
