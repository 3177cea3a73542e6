"""From devices and config to resources: what no recording of the original shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from core.resources.asking import config_of, entry, mps, time_slicing
from core.resources.building import LOST, mig_device, mig_gpu, node_of, recorded_node, whole_gpu
from gpu_core.config.model import ResourcePattern
from gpu_core.config.words import AllocationPolicy, SharingStrategy
from gpu_core.devices.model import Inventory, Platform, UnreadableGpu
from gpu_core.errors import ResourceError
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.model import Device, Resource

THREE = node_of(*(whole_gpu(index, name=name) for index, name in enumerate(["Tesla T4", "NVIDIA A100", "Tesla T4"])))
PARTED = node_of(mig_gpu(0, "1g.5gb", "1g.5gb", "2g.10gb"), whole_gpu(1))


def advertised(node: Inventory, **asked: Any) -> dict[str, list[str]]:
    resources, _ = build_resources(node, config_of(**asked))
    return {resource.name: [device.id for device in resource.devices] for resource in resources}


def refused(node: Inventory, **asked: Any) -> str:
    with pytest.raises(ResourceError) as caught:
        build_resources(node, config_of(**asked))
    return str(caught.value)


def test_a_whole_gpu_has_everything_a_container_needs() -> None:
    gpu = whole_gpu(3, minor=5, numa_node=1)
    resources, warnings = build_resources(node_of(gpu), config_of())
    device = Device(id="GPU-3", uuid="GPU-3", index="3", paths=("/dev/nvidia5",), numa_node=1, gpu=gpu)
    assert resources == (Resource(name="nvidia.com/gpu", devices=(device,), aligned=True),)
    assert warnings == ()


def test_a_mig_device_adds_the_nodes_of_its_instances() -> None:
    part = mig_device(0, 1, "1g.5gb", capability_minors=(30, 31))
    gpu = mig_gpu(0, mig_devices=(part,), numa_node=0)
    (resource,), _ = build_resources(node_of(gpu), config_of(mig="mixed"))
    paths = ("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31")
    device = Device(id="MIG-0-1", uuid="MIG-0-1", index="0:1", paths=paths, numa_node=0, gpu=gpu, mig=part)
    assert resource == Resource(name="nvidia.com/mig-1g.5gb", devices=(device,))


def test_shares_know_their_device_and_number() -> None:
    gpu = whole_gpu(0)
    config = config_of(sharing=time_slicing(entry(replicas=2), fail_requests_greater_than_one=True))
    (resource,), _ = build_resources(node_of(gpu), config)
    shares = tuple(
        Device(
            id=f"GPU-0::{number}",
            uuid="GPU-0",
            index="0",
            paths=("/dev/nvidia0",),
            replica=number,
            replicas=2,
            gpu=gpu,
        )
        for number in (0, 1)
    )
    assert resource == Resource(
        name="nvidia.com/gpu",
        devices=shares,
        sharing=SharingStrategy.TIME_SLICING,
        replicas=2,
        fail_requests_greater_than_one=True,
        aligned=True,
    )


def test_shares_are_sorted_by_number_not_by_text() -> None:
    ids = advertised(node_of(whole_gpu(0)), sharing=time_slicing(entry(replicas=11)))["nvidia.com/gpu"]
    assert ids == [f"GPU-0::{number}" for number in range(11)]


@pytest.mark.parametrize(
    ("node", "asked", "resources"),
    [
        pytest.param(node_of(), {}, {}, id="a node without GPUs has no resource"),
        pytest.param(
            node_of(whole_gpu(0), platform=Platform.VFIO), {}, {}, id="GPUs given to virtual machines are not ours"
        ),
        pytest.param(
            node_of(whole_gpu(0), whole_gpu(1), platform=Platform.WSL),
            {"mig": "mixed"},
            {"nvidia.com/gpu": ["all"]},
            id="WSL has one device for all GPUs",
        ),
        pytest.param(node_of(platform=Platform.TEGRA), {}, {"nvidia.com/gpu": ["tegra"]}, id="Tegra has one device"),
        pytest.param(
            PARTED, {"mig": "none"}, {"nvidia.com/gpu": ["GPU-0", "GPU-1"]}, id="none serves GPUs whole, MIG or not"
        ),
        pytest.param(
            PARTED,
            {"mig": "mixed"},
            {
                "nvidia.com/gpu": ["GPU-1"],
                "nvidia.com/mig-1g.5gb": ["MIG-0-0", "MIG-0-1"],
                "nvidia.com/mig-2g.10gb": ["MIG-0-2"],
            },
            id="mixed has a resource for each profile",
        ),
        pytest.param(
            node_of(mig_gpu(0, "1c.3g.20gb", "3g.20gb", "3g.72gb+gfx")),
            {"mig": "mixed"},
            {"nvidia.com/mig-3g.20gb": ["MIG-0-0", "MIG-0-1"], "nvidia.com/mig-3g.72gb.gfx": ["MIG-0-2"]},
            id="a smaller compute instance goes with its GPU instance's profile",
        ),
        pytest.param(
            node_of(mig_gpu(0, "1g.5gb"), mig_gpu(1)),
            {"mig": "mixed"},
            {"nvidia.com/mig-1g.5gb": ["MIG-0-0"]},
            id="mixed passes over a MIG GPU without devices",
        ),
        pytest.param(
            node_of(mig_gpu(0, "1g.5gb", "1g.5gb")),
            {"mig": "single"},
            {"nvidia.com/gpu": ["MIG-0-0", "MIG-0-1"]},
            id="single serves equal MIG devices as GPUs",
        ),
        pytest.param(
            node_of(whole_gpu(0, faults=(LOST,)), mig_gpu(1, "1g.5gb")),
            {"mig": "single"},
            {"nvidia.com/gpu": ["GPU-0", "MIG-1-0"]},
            id="a lost GPU does not spoil the strategy single",
        ),
        pytest.param(
            node_of(mig_gpu(0, mig_devices=(mig_device(0, 0, "1g.5gb"), mig_device(0, 1, "2g.10gb", faults=(LOST,))))),
            {"mig": "single"},
            {"nvidia.com/gpu": ["MIG-0-0", "MIG-0-1"]},
            id="nor does a MIG device that cannot be read",
        ),
        pytest.param(
            node_of(whole_gpu(0, name=None, minor=None, faults=(LOST,)), whole_gpu(1)),
            {},
            {"nvidia.com/gpu": ["GPU-0", "GPU-1"]},
            id="a GPU with faults is listed beside its neighbours",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry(replicas=2), entry(replicas=3))},
            {"nvidia.com/gpu": [f"GPU-{gpu}::{share}" for gpu in range(3) for share in range(3)]},
            id="of two entries for a resource the larger counts",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry(replicas=3), entry(replicas=2))},
            {"nvidia.com/gpu": [f"GPU-{gpu}::{share}" for gpu in range(3) for share in range(3)]},
            id="in either order",
        ),
        pytest.param(
            THREE,
            {"sharing": time_slicing(entry("nvidia.com/mig-1g.5gb"))},
            {"nvidia.com/gpu": ["GPU-0", "GPU-1", "GPU-2"]},
            id="an entry for a resource of other nodes is passed over",
        ),
        pytest.param(
            THREE,
            {
                "gpus": (ResourcePattern(pattern="*", name="nvidia.com/any"),),
                "sharing": time_slicing(entry(devices=1, rename="nvidia.com/slice")),
            },
            {"nvidia.com/gpu": [f"GPU-{gpu}::{share}" for gpu in range(3) for share in range(2)]},
            id="without customResources names and devices are ignored",
        ),
    ],
)
def test_a_node_advertises(node: Inventory, asked: dict[str, Any], resources: dict[str, list[str]]) -> None:
    assert advertised(node, **asked) == resources


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


PACKED = AllocationPolicy.PACKED


@pytest.mark.parametrize(
    ("node", "asked", "policies"),
    [
        pytest.param(THREE, {"policy": PACKED}, {"nvidia.com/gpu": PACKED}, id="that of the flag"),
        pytest.param(
            THREE,
            {
                "custom": True,
                "sharing": time_slicing(entry(devices=1, rename="nvidia.com/b", allocation_policy=PACKED)),
            },
            {"nvidia.com/b": PACKED, "nvidia.com/gpu": AllocationPolicy.DISTRIBUTED},
            id="that of its entry",
        ),
        pytest.param(
            THREE,
            {
                "custom": True,
                "gpus": (ResourcePattern(pattern="Tesla*", name="nvidia.com/t4", allocation_policy=PACKED),),
            },
            {"nvidia.com/gpu": AllocationPolicy.DISTRIBUTED, "nvidia.com/t4": PACKED},
            id="that of its pattern",
        ),
        pytest.param(
            node_of(platform=Platform.TEGRA),
            {"policy": PACKED},
            {"nvidia.com/gpu": AllocationPolicy.DISTRIBUTED},
            id="distributed where there is one device",
        ),
    ],
)
def test_the_policy_of_a_resource_is(
    node: Inventory, asked: dict[str, Any], policies: dict[str, AllocationPolicy]
) -> None:
    resources, _ = build_resources(node, config_of(**asked))
    assert {resource.name: resource.policy for resource in resources} == policies


@pytest.mark.parametrize(
    ("node", "asked", "aligned"),
    [
        pytest.param(THREE, {}, [True], id="whole GPUs"),
        pytest.param(PARTED, {"mig": "mixed"}, [True, False, False], id="not MIG devices"),
        pytest.param(node_of(whole_gpu(0), platform=Platform.WSL), {}, [False], id="nor the one device of WSL"),
    ],
)
def test_links_decide_between(node: Inventory, asked: dict[str, Any], aligned: list[bool]) -> None:
    resources, _ = build_resources(node, config_of(**asked))
    assert [resource.aligned for resource in resources] == aligned


def test_the_physical_gpu_stands_behind_every_kind_of_device() -> None:
    parts, _ = build_resources(PARTED, config_of(mig="mixed"))
    tegra, _ = build_resources(node_of(platform=Platform.TEGRA), config_of())
    assert {device.physical for resource in parts for device in resource.devices} == {"GPU-0", "GPU-1"}
    assert tegra[0].devices[0].physical == "tegra"
