from __future__ import annotations

from dataclasses import replace

import pytest

from core.labels.building import config, gpu, mig_gpu, node, shares, t4
from gpu_core.config.words import MigStrategy
from gpu_core.devices.model import Fault, Gpu, MigAttributes
from gpu_core.labels import mig

INVALID = {
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-INVALID",
    "nvidia.com/gpu.count": "0",
    "nvidia.com/gpu.replicas": "0",
    "nvidia.com/gpu.sharing-strategy": "",
    "nvidia.com/gpu.memory": "0",
}


def resource(name: str, profile: str, *, count: int, slices: int) -> dict[str, str]:
    return {
        f"nvidia.com/{name}.product": f"NVIDIA-A100-SXM4-40GB-MIG-{profile}",
        f"nvidia.com/{name}.count": str(count),
        f"nvidia.com/{name}.replicas": "1",
        f"nvidia.com/{name}.sharing-strategy": "none",
        f"nvidia.com/{name}.memory": str(4864 * slices),
        f"nvidia.com/{name}.multiprocessors": str(14 * slices),
        f"nvidia.com/{name}.slices.gi": str(slices),
        f"nvidia.com/{name}.slices.ci": str(slices),
        f"nvidia.com/{name}.engines.copy": str(slices),
        f"nvidia.com/{name}.engines.decoder": "0",
        f"nvidia.com/{name}.engines.encoder": "0",
        f"nvidia.com/{name}.engines.jpeg": "0",
        f"nvidia.com/{name}.engines.ofa": "0",
    }


@pytest.mark.parametrize(
    ("found", "strategy", "expected"),
    [
        pytest.param((mig_gpu(0, "1g.5gb"),), MigStrategy.NONE, {}, id="none: MIG devices are not advertised"),
        pytest.param((gpu(),), MigStrategy.MIXED, {}, id="mixed: no GPU is partitioned"),
        pytest.param((mig_gpu(0),), MigStrategy.MIXED, {}, id="mixed: a GPU in MIG mode is empty"),
        pytest.param(
            (mig_gpu(0, "2g.10gb", "1g.5gb", "1g.5gb+me", "1g.5gb"), gpu(1)),
            MigStrategy.MIXED,
            resource("mig-1g.5gb", "1g.5gb", count=2, slices=1)
            | resource("mig-1g.5gb.me", "1g.5gb.me", count=1, slices=1)
            | resource("mig-2g.10gb", "2g.10gb", count=1, slices=2),
            id="mixed: one set per profile",
        ),
        pytest.param((gpu(),), MigStrategy.SINGLE, {}, id="single: no GPU is partitioned"),
        pytest.param(
            (mig_gpu(0, "1g.5gb", "1g.5gb"), mig_gpu(1, "1g.5gb")),
            MigStrategy.SINGLE,
            resource("gpu", "1g.5gb", count=3, slices=1),
            id="single: all GPUs are partitioned alike",
        ),
        pytest.param((mig_gpu(0, "1g.5gb"), mig_gpu(1)), MigStrategy.SINGLE, INVALID, id="single: one GPU is empty"),
        pytest.param((mig_gpu(0, "1g.5gb"), gpu(1)), MigStrategy.SINGLE, INVALID, id="single: one GPU is whole"),
        pytest.param((mig_gpu(0, "1g.5gb", "2g.10gb"),), MigStrategy.SINGLE, INVALID, id="single: two profiles"),
    ],
)
def test_mig_labels(found: tuple[Gpu, ...], strategy: MigStrategy, expected: dict[str, str]) -> None:
    assert mig.devices(node(*found, config=config(strategy))).values == expected


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param((mig_gpu(0),), "a GPU in MIG mode has no MIG devices", id="empty"),
        pytest.param((mig_gpu(0, "1g.5gb"), t4(1)), "only some of the GPUs are in MIG mode", id="partial"),
        pytest.param(
            (mig_gpu(0, "1g.5gb", "2g.10gb"),),
            "MIG devices of several profiles are present (1g.5gb, 2g.10gb)",
            id="two profiles",
        ),
    ],
)
def test_a_broken_single_strategy_says_why(found: tuple[Gpu, ...], reason: str) -> None:
    labels = mig.devices(node(*found, config=config(MigStrategy.SINGLE)))
    assert labels.warnings == (f"The MIG strategy single does not fit this node: {reason}.",)


def test_shared_mig_devices_carry_their_profile_and_that_they_are_shared() -> None:
    settings = config(MigStrategy.MIXED, time_slicing=shares("nvidia.com/mig-1g.5gb", 2))
    values = mig.devices(node(mig_gpu(0, "1g.5gb", "2g.10gb"), config=settings)).values
    assert values["nvidia.com/mig-1g.5gb.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"
    assert values["nvidia.com/mig-1g.5gb.replicas"] == "2"
    assert values["nvidia.com/mig-2g.10gb.product"] == "NVIDIA-A100-SXM4-40GB-MIG-2g.10gb"


def test_a_broken_single_strategy_is_never_called_shared() -> None:
    settings = config(MigStrategy.SINGLE, time_slicing=shares("nvidia.com/gpu", 2))
    assert mig.devices(node(mig_gpu(0), config=settings)).values == INVALID


def test_a_mig_device_that_cannot_be_read_is_not_counted() -> None:
    found = mig_gpu(0, "1g.5gb", "1g.5gb")
    lost = replace(found.mig_devices[1], faults=(Fault(call="DeviceGetAttributes", code="UNKNOWN"),))
    found = replace(found, mig_devices=(found.mig_devices[0], lost))
    values = mig.devices(node(found, config=config(MigStrategy.MIXED))).values
    assert values == resource("mig-1g.5gb", "1g.5gb", count=1, slices=1)


def test_of_unequal_devices_of_one_profile_the_least_one_is_described() -> None:
    found = mig_gpu(0, "1g.5gb", "1g.5gb")
    attributes = MigAttributes(
        memory_mib=4000, multiprocessors=14, gpu_instance_slices=1, compute_instance_slices=1, copy_engines=1
    )
    smaller = replace(found.mig_devices[1], attributes=attributes)
    found = replace(found, mig_devices=(found.mig_devices[0], smaller))
    values = mig.devices(node(found, config=config(MigStrategy.MIXED))).values
    assert values["nvidia.com/mig-1g.5gb.memory"] == "4000"


@pytest.mark.parametrize(
    ("found", "strategy", "expected"),
    [
        pytest.param((gpu(),), MigStrategy.NONE, {}, id="none has no label"),
        pytest.param((gpu(),), MigStrategy.SINGLE, {"nvidia.com/mig.strategy": "single"}, id="single"),
        pytest.param((gpu(),), MigStrategy.MIXED, {"nvidia.com/mig.strategy": "mixed"}, id="mixed"),
        pytest.param((), MigStrategy.MIXED, {}, id="no GPUs"),
    ],
)
def test_strategy_label(found: tuple[Gpu, ...], strategy: MigStrategy, expected: dict[str, str]) -> None:
    assert mig.strategy(node(*found, config=config(strategy))).values == expected
