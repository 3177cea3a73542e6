"""What the kubelet hears when it asks which devices to prefer."""

from __future__ import annotations

import pytest

from fakes.running_plugin import run_plugin
from gpu_demo.kubelet import Kubelet, Listed

GPU = "nvidia.com/gpu"


def test_preferred_devices_are_told(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie"):
        kubelet.log.wait_for(Listed)
        every = [device.id for device in kubelet.devices(GPU)]
        # These two are joined by NVLink bridges.
        assert kubelet.preferred(GPU, available=every, size=2, must_include=[every[2]]) == (every[0], every[2])
        assert kubelet.preferred(GPU, available=["GPU-gone", every[1]], size=1) == (every[1],)


SHARES = "{version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}"


@pytest.mark.parametrize("config", [pytest.param(None, id="whole GPUs"), pytest.param(SHARES, id="shares")])
def test_questions_that_cannot_be_met_leave_the_choice_to_the_kubelet_and_are_logged_once_each(
    kubelet: Kubelet, config: str | None
) -> None:
    unknown = "GPU-" + "x" * 5000
    with run_plugin(kubelet, "a100x4-pcie", config=config) as plugin:
        kubelet.log.wait_for(Listed)
        every = [device.id for device in kubelet.devices(GPU)]
        answers = [
            kubelet.preferred(GPU, available=every[:1], size=-1),
            kubelet.preferred(GPU, available=every[:1], size=2),
            kubelet.preferred(GPU, available=every, must_include=every[:2], size=1),
            kubelet.preferred(GPU, available=every[:2], must_include=[unknown], size=2),
        ]
        assert answers == [()] * 4
        said = [line for line in plugin.log.lines() if "cannot be met" in line["event"]]
        assert [(line["level"], line["resource"], line["reason"][:60]) for line in said] == [
            ("warning", GPU, "it asks for -1 devices"),
            ("warning", GPU, "it asks for 2 devices, and only 1 is available"),
            ("warning", GPU, "it requires 2 devices and asks for only 1"),
            ("warning", GPU, f"it requires devices that are not available: {unknown}"[:60]),
        ]
        assert len(said[-1]["reason"]) == 1000
        assert kubelet.admit(GPU, 1).devices
