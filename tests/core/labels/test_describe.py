"""All labelers together."""

from __future__ import annotations

import pytest

from core.labels.building import FACTS, config, gpu, inventory, mig_gpu, shares, shuffled, t4
from gpu_core.config.model import Config
from gpu_core.config.words import ExtraLabels, MigStrategy
from gpu_core.devices.model import Fault, Inventory, UnreadableGpu
from gpu_core.labels import all_labels, describe

NOTHING = {"nvidia.com/gfd.timestamp": "1700000000", "nvidia.com/vgpu.present": "false"}


def test_a_node_without_gpus_has_a_timestamp_and_no_vgpu() -> None:
    assert all_labels(inventory(), FACTS, Config()) == NOTHING


def test_labels_are_sorted_by_key() -> None:
    keys = list(all_labels(inventory(gpu()), FACTS, Config()))
    assert keys == sorted(keys)


def test_mig_labels_win_over_those_of_the_whole_gpu() -> None:
    values = all_labels(inventory(mig_gpu(0, "1g.5gb")), FACTS, config(MigStrategy.SINGLE))
    assert values["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert values["nvidia.com/gpu.family"] == "ampere"


def test_a_lost_gpu_leaves_the_labels_of_the_others() -> None:
    lost = UnreadableGpu(index=1, fault=Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST"))
    labels = describe(inventory(gpu(0), unreadable=(lost,)), FACTS, Config())
    assert labels.values == all_labels(inventory(gpu(0)), FACTS, Config())
    assert labels.failures == ("GPU 1 has no labels: nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST.",)


def test_a_node_whose_only_gpu_is_lost_still_names_its_machine_and_driver() -> None:
    lost = UnreadableGpu(index=0, fault=Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST"))
    values = all_labels(inventory(unreadable=(lost,)), FACTS, Config())
    assert values["nvidia.com/gpu.machine"] == "DGX-H100"
    assert values["nvidia.com/cuda.driver-version.full"] == "550.90.07"
    assert "nvidia.com/gpu.count" not in values


NODES = {
    "several models": inventory(t4(0), gpu(1), t4(2), gpu(3), gpu(4, "NVIDIA A30", memory=24 << 30)),
    "models alike but for their name": inventory(gpu(0, "B"), gpu(1, "A"), gpu(2, "C")),
    "MIG beside whole GPUs": inventory(mig_gpu(0, "1g.5gb", "2g.10gb", "1g.5gb"), gpu(1), t4(2), mig_gpu(3, "1g.5gb")),
    "MIG of two models": inventory(mig_gpu(0, "1g.5gb"), mig_gpu(1, "1g.5gb", name="NVIDIA A100-PCIE-40GB")),
    "GPUs with different figures": inventory(gpu(0, memory=None), gpu(1, memory=1 << 30), gpu(2)),
}


@pytest.mark.parametrize("strategy", list(MigStrategy))
@pytest.mark.parametrize("found", [pytest.param(found, id=name) for name, found in NODES.items()])
def test_labels_do_not_depend_on_the_order_of_enumeration(found: Inventory, strategy: MigStrategy) -> None:
    settings = config(strategy, extra=ExtraLabels.ALL, time_slicing=shares("nvidia.com/gpu", 3))
    expected = describe(found, FACTS, settings)
    for seed in range(20):
        assert describe(shuffled(found, seed), FACTS, settings) == expected
