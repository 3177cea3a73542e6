"""One GPU of eight for which a call into the driver fails: its neighbours are served as ever."""

from __future__ import annotations

import pytest

from fakes.running_plugin import run_plugin, topology
from gpu_core.devices.simulated.library import CALLS
from gpu_demo.kubelet import Kubelet, Listed

GPU = "nvidia.com/gpu"
NODE = topology("a100x8")
BROKEN = 3
NEIGHBOURS = {gpu.uuid for index, gpu in enumerate(NODE.gpus) if index != BROKEN}
AT_START, *LATER = ("GPU_IS_LOST", "NOT_SUPPORTED", "UNKNOWN", "TIMEOUT", "DRIVER_NOT_LOADED")
# These are not about one GPU.
OF_THE_NODE = {"Init", "InitWithFlags", "Shutdown", "DeviceGetCount", "EventSetCreate", "EventSetFree", "EventSetWait"}
OF_A_GPU = sorted(call for call in CALLS if call not in OF_THE_NODE and not call.startswith("System"))


@pytest.mark.parametrize("call", OF_A_GPU)
def test_a_fault_of_one_gpu_leaves_seven_to_allocate(kubelet: Kubelet, call: str) -> None:
    config = "health: {probeInterval: 100ms, recoveryQuietTime: 0s}"
    with run_plugin(kubelet, NODE, config=config, before=[f"fail {call} {BROKEN} {AT_START}"]) as plugin:
        kubelet.log.wait_for(Listed)
        for code in LATER:
            plugin.say(f"heal {call}", f"fail {call} {BROKEN} {code}")
            plugin.rescan()
            healthy = {device.id for device in kubelet.devices(GPU) if device.healthy}
            assert healthy >= NEIGHBOURS
        grant = kubelet.admit(GPU, 7)
        assert set(grant.devices) <= {gpu.uuid for gpu in NODE.gpus}
        plugin.say("heal *")
        plugin.rescan()
        everyone = NEIGHBOURS | {NODE.gpus[BROKEN].uuid}
        kubelet.log.wait_for(Listed, matching=lambda listed: listed.health == dict.fromkeys(everyone, "Healthy"))


def test_the_calls_are_those_that_the_plugin_makes() -> None:
    assert {"DeviceGetUUID", "DeviceGetHandleByUUID", "DeviceRegisterEvents", "DeviceGetMemoryInfo"} <= set(OF_A_GPU)
