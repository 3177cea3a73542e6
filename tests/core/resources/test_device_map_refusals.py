"""Nodes that cannot be served as asked, and those that deserve a warning."""

from __future__ import annotations

import re
from typing import Any

import pytest

from core.resources.advertising import PARTED, THREE, refused
from core.resources.asking import config_of, entry, mps, time_slicing
from core.resources.building import LOST, mig_device, mig_gpu, node_of, recorded_node, whole_gpu
from gpu_core.devices.model import Inventory, UnreadableGpu
from gpu_core.resources.device_map import build_resources


@pytest.mark.parametrize(
    ("node", "asked", "message"),
    [
        pytest.param(
            node_of(mig_gpu(0, "1g.5gb"), mig_gpu(1)),
            {"mig": "single"},
            r"GPU 1 \(GPU-1\) has none",
            id="single on a MIG GPU without devices, naming it",
        ),
        pytest.param(
            PARTED,
            {"mig": "single"},
            r"MIG is off on GPU 1 \(GPU-1\) and on on GPU 0 \(GPU-0\)",
            id="single with MIG on some GPUs",
        ),
        pytest.param(
            node_of(mig_gpu(0, "1g.5gb", "2g.10gb", "1g.5gb")),
            {"mig": "single"},
            r"this node has 1g.5gb \(device 0:0\) and 2g.10gb \(device 0:1\)",
            id="single with two kinds of MIG device",
        ),
        pytest.param(
            node_of(mig_gpu(0, "1g.5gb")),
            {"mig": "single", "sharing": mps(entry())},
            r"nvidia.com/gpu cannot be shared through MPS: it holds the MIG devices MIG-0-0\.",
            id="MPS with MIG devices, naming them",
        ),
        pytest.param(
            THREE,
            {"custom": True, "sharing": mps(entry(devices=("0",)), entry(devices=("1",), replicas=3))},
            "shared through MPS in 2 and 3 parts",
            id="MPS with two numbers of parts in one resource",
        ),
        pytest.param(
            THREE,
            {"custom": True, "sharing": time_slicing(entry(devices=4))},
            r"sharing.timeSlicing.resources\[0\] \(nvidia.com/gpu\) asks for 4 devices, but this node has 3",
            id="more devices than there are",
        ),
        pytest.param(
            THREE,
            {"custom": True, "sharing": mps(entry(), entry(devices=("0", "GPU-7")))},
            r"sharing.mps.resources\[1\] \(nvidia.com/gpu\) names device GPU-7, which this node does not have",
            id="a device that does not exist",
        ),
        pytest.param(
            THREE,
            {"custom": True, "sharing": time_slicing(entry(devices=("0", "GPU-0")))},
            r"resources\[0\] \(nvidia.com/gpu\) names device 0 \(GPU-0\) twice",
            id="one device by both its names",
        ),
        pytest.param(
            THREE,
            {
                "custom": True,
                "sharing": time_slicing(entry(devices=2), entry(devices=("1", "2"), rename="nvidia.com/b")),
            },
            r"resources\[1\] \(nvidia.com/gpu\) shares device 1 \(GPU-1\), which sharing.timeSlicing.resources\[0\]",
            id="one device in two entries",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry(replicas=10**9))},
            r"The list of nvidia.com/gpu would have 3000000000 entries .* On this node 3 devices can be shared in at "
            r"most 52193 replicas; lower `replicas` in sharing.timeSlicing.resources\[0\] \(nvidia.com/gpu\)\.",
            id="more shares than a list has room for, before there are any",
        ),
        pytest.param(
            THREE,
            {
                "custom": True,
                "sharing": mps(
                    entry(replicas=2, devices=("0",), rename="nvidia.com/a"),
                    entry(replicas=10**9, devices=("2",), rename="nvidia.com/a"),
                ),
            },
            r"On this node 2 devices can be shared in at most \d+ replicas; lower `replicas` in "
            r"sharing.mps.resources\[0\] \(nvidia.com/gpu\) and sharing.mps.resources\[1\] \(nvidia.com/gpu\)\.",
            id="more shares than a list has room for, by two entries",
        ),
        pytest.param(
            recorded_node("a100-mig-nominors"),
            {"mig": "mixed", "specs": True},
            "/proc/driver/nvidia-caps/mig-minors does not name .* which passDeviceSpecs needs",
            id="device specs of MIG devices whose nodes are unknown",
        ),
    ],
)
def test_a_node_refuses(node: Inventory, asked: dict[str, Any], message: str) -> None:
    assert re.search(message, refused(node, **asked))


@pytest.mark.parametrize(
    ("node", "asked", "warning"),
    [
        pytest.param(
            node_of(whole_gpu(1), unreadable=(UnreadableGpu(index=0, fault=LOST),)),
            {},
            "GPU 0 is left out: nvmlDeviceGetUUID failed with GPU_IS_LOST.",
            id="a GPU that has no readable name",
        ),
        pytest.param(
            node_of(mig_gpu(0), whole_gpu(1)),
            {"mig": "mixed"},
            "GPU 0 (GPU-0) has MIG enabled but no MIG devices, so it offers nothing. Create some, or disable MIG.",
            id="a MIG GPU without devices",
        ),
        pytest.param(
            node_of(mig_gpu(0, mig_devices=(mig_device(0, 0, "1g.5gb", capability_minors=None),))),
            {"mig": "mixed"},
            "/proc/driver/nvidia-caps/mig-minors does not name the device nodes of the MIG devices MIG-0-0; containers "
            "get them by name only.",
            id="MIG devices whose nodes are unknown",
        ),
    ],
)
def test_a_warning_tells_of(node: Inventory, asked: dict[str, Any], warning: str) -> None:
    assert build_resources(node, config_of(**asked))[1] == (warning,)
