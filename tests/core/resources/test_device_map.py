"""From devices and config to resources: what no recording of the original shows."""

from __future__ import annotations

from typing import Any

import pytest

from core.resources.advertising import PARTED, THREE, advertised
from core.resources.asking import config_of, entry, mps, time_slicing
from core.resources.building import LOST, mig_device, mig_gpu, node_of, whole_gpu
from gpu_core.config.model import ResourcePattern
from gpu_core.config.words import AllocationPolicy, SharingStrategy
from gpu_core.devices.model import Inventory, Platform
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.model import Device, Resource


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


@pytest.mark.parametrize(
    ("count", "warnings"),
    [
        pytest.param(0, [], id="not without MIG"),
        pytest.param(1, ["GPU 0 (GPU-0) is in MIG mode, and the MIG strategy is none: it is served"], id="one GPU"),
        pytest.param(
            2,
            ["GPU 0 (GPU-0) and GPU 1 (GPU-1) are in MIG mode, and the MIG strategy is none: they are served"],
            id="several GPUs in one line",
        ),
    ],
)
def test_mig_devices_that_nobody_asked_for_are_told(count: int, warnings: list[str]) -> None:
    """As in the original, the whole GPU is served: who meets MIG for the first time would look for it in vain."""
    gpus = [mig_gpu(index, "1g.5gb", "2g.10gb") for index in range(count)]
    (resource,), told = build_resources(node_of(*gpus, whole_gpu(count)), config_of(mig="none"))
    rest = (
        " whole, though CUDA uses one MIG device at most. To serve MIG devices, set --mig-strategy to single or mixed."
    )

    assert len(resource.devices) == count + 1
    assert told == tuple(f"{warning}{rest}" for warning in warnings)


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
            {"sharing": time_slicing(entry(replicas=1), rename_by_default=True)},
            {"nvidia.com/gpu": ["GPU-0", "GPU-1", "GPU-2"]},
            id="one replica shares nothing: own ids and own name, also where shares are renamed",
        ),
        pytest.param(
            PARTED,
            {"mig": "mixed", "sharing": mps(entry(replicas=1))},
            {
                "nvidia.com/gpu": ["GPU-1"],
                "nvidia.com/mig-1g.5gb": ["MIG-0-0", "MIG-0-1"],
                "nvidia.com/mig-2g.10gb": ["MIG-0-2"],
            },
            id="nor through MPS",
        ),
        pytest.param(
            PARTED,
            {
                "mig": "mixed",
                "sharing": time_slicing(
                    entry(replicas=1), entry("nvidia.com/mig-2g.10gb", replicas=2), rename_by_default=True
                ),
            },
            {
                "nvidia.com/gpu": ["GPU-1"],
                "nvidia.com/mig-1g.5gb": ["MIG-0-0", "MIG-0-1"],
                "nvidia.com/mig-2g.10gb.shared": ["MIG-0-2::0", "MIG-0-2::1"],
            },
            id="beside an entry that does share",
        ),
        pytest.param(
            THREE,
            {
                "custom": True,
                "sharing": time_slicing(
                    entry(replicas=1, devices=("0",), rename="nvidia.com/one"), entry(replicas=2, devices=("0", "1"))
                ),
            },
            {"nvidia.com/gpu": ["GPU-0::0", "GPU-0::1", "GPU-1::0", "GPU-1::1", "GPU-2"]},
            id="and takes no devices from another entry",
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
