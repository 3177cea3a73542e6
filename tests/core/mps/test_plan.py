"""Which daemons a node needs, and the limits of their clients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mps.sharing import MIB, TWO, ampere, entry, node_of, plan_of, plans_of, whole_gpu
from core.resources.asking import config_of, mps, time_slicing
from core.resources.building import LOST, mig_gpu
from gpu_core.config.model import ResourcePattern
from gpu_core.devices.model import Gpu, Platform
from gpu_core.errors import MpsError, SuiteError
from gpu_core.mps import DaemonPlan, MpsRoot, SharedGpu, max_clients, plan_daemons, unlimited_gpus
from gpu_core.resources.device_map import build_resources


def test_a_shared_resource_has_one_daemon_with_all_its_gpus() -> None:
    assert plans_of(TWO, entry(replicas=4)) == (
        DaemonPlan(
            resource="nvidia.com/gpu",
            gpus=(
                SharedGpu(uuid="GPU-0", memory_limit=10_000),
                SharedGpu(uuid="GPU-1", memory_limit=10_000),
            ),
            replicas=4,
            active_thread_percentage=25.0,
        ),
    )


def test_a_renamed_resource_has_its_daemon_under_the_name_that_pods_ask_for() -> None:
    (plan,) = plans_of(TWO, entry(), rename_by_default=True)
    assert plan == replace(plan_of("GPU-0", "GPU-1"), resource="nvidia.com/gpu.shared")


@pytest.mark.parametrize(
    "sharing",
    [None, time_slicing(entry()), mps(entry(replicas=1))],
    ids=["nothing is shared", "time is sliced", "one client has each GPU to itself"],
)
def test_without_mps_there_are_no_daemons(sharing: Any) -> None:
    config = config_of(sharing=sharing)
    resources, _ = build_resources(TWO, config)
    assert plan_daemons(resources, config) == ()


def test_a_resource_that_the_node_does_not_have_needs_no_daemon() -> None:
    assert plans_of(TWO, entry("nvidia.com/mig-1g.5gb")) == ()


def test_several_resources_have_daemons_of_their_own_in_order_of_name() -> None:
    node = node_of(ampere(0, name="B"), ampere(1, name="A"), ampere(2, name="C"))
    gpus = tuple(ResourcePattern(pattern=letter, name=f"nvidia.com/{letter.lower()}") for letter in "ABC")
    config = config_of(sharing=mps(entry("nvidia.com/b"), entry("nvidia.com/a", replicas=8)), custom=True, gpus=gpus)
    resources, _ = build_resources(node, config)
    found = [(plan.resource, plan.uuids, plan.replicas) for plan in plan_daemons(resources, config)]
    assert found == [("nvidia.com/a", ("GPU-1",), 8), ("nvidia.com/b", ("GPU-0",), 2)]


def test_whole_gpus_beside_shared_ones_are_not_the_daemons() -> None:
    (plan,) = plans_of(TWO, entry(devices=("GPU-1",)), custom=True)
    assert plan.uuids == ("GPU-1",)


def test_the_entry_of_a_chosen_name_is_found() -> None:
    plans = plans_of(TWO, entry(rename="nvidia.com/part", memory_limit_mib=123), custom=True)
    assert plans == (replace(plan_of("GPU-0", "GPU-1", limit=123), resource="nvidia.com/part"),)


def test_a_resource_of_no_entry_has_the_default_limits() -> None:
    config = config_of(sharing=mps(entry()))
    resources, _ = build_resources(TWO, config)
    other = replace(config, sharing=mps(entry("nvidia.com/other", memory_limit_mib=1)))
    assert plan_daemons(resources, other) == (plan_of("GPU-0", "GPU-1"),)


@pytest.mark.parametrize(
    ("more", "limit", "percentage"),
    [
        pytest.param({}, 13_333, 33.0, id="by default a share of each, rounded down"),
        pytest.param({"memory_factor": 1.5}, 20_000, 33.0, id="a factor lets clients over-commit"),
        pytest.param({"memory_factor": 9.0}, 40_000, 33.0, id="but nobody can have more than there is"),
        pytest.param({"memory_limit_mib": 500, "memory_factor": 9.0}, 500, 33.0, id="a limit in MiB counts as it is"),
        pytest.param({"memory_limit_mib": 0}, None, 33.0, id="zero is no limit of memory"),
        pytest.param({"active_thread_percentage": 12.5}, 13_333, 12.5, id="threads can be given in percent"),
        pytest.param({"active_thread_percentage": 0.0}, 13_333, None, id="zero is no limit of threads"),
    ],
)
def test_limits(more: dict[str, Any], limit: int | None, percentage: float | None) -> None:
    plans = plans_of(node_of(ampere(0)), entry(replicas=3, **more))
    assert plans == (plan_of("GPU-0", limit=limit, replicas=3, percentage=percentage),)


def test_a_gpu_without_a_memory_figure_is_served_without_a_limit_and_told_of() -> None:
    node = node_of(ampere(0, memory=None), ampere(1))
    config = config_of(sharing=mps(entry()))
    resources, _ = build_resources(node, config)
    plans = plan_daemons(resources, config)
    assert plans[0].gpus == (SharedGpu(uuid="GPU-0"), SharedGpu(uuid="GPU-1", memory_limit=20_000))
    assert unlimited_gpus(resources, plans) == ("GPU-0",)


def test_a_limit_that_was_turned_off_is_no_reason_to_tell() -> None:
    config = config_of(sharing=mps(entry(memory_limit_mib=0)))
    resources, _ = build_resources(TWO, config)
    assert unlimited_gpus(resources, plan_daemons(resources, config)) == ()


def test_a_gpu_that_cannot_be_read_is_left_out_so_that_cuda_shows_those_behind_it() -> None:
    assert plans_of(node_of(ampere(0, faults=(LOST,)), ampere(1)), entry()) == (plan_of("GPU-1"),)


def test_where_no_gpu_can_be_read_there_is_no_daemon() -> None:
    assert plans_of(node_of(whole_gpu(0, faults=(LOST,))), entry(replicas=17)) == ()


@pytest.mark.parametrize(
    ("capability", "most"),
    [((6, 0), 16), ((6, 2), 16), ((7, 0), 48), ((7, 5), 48), ((9, 0), 48), ((12, 0), 48), (None, 16)],
)
def test_volta_and_newer_take_48_clients(capability: tuple[int, int] | None, most: int) -> None:
    assert max_clients(capability) == most
    gpu = ampere(0, compute_capability=capability)
    assert plans_of(node_of(gpu), entry(replicas=most))[0].replicas == most
    with pytest.raises(MpsError, match=rf"{most + 1} replicas of GPU 0 \(GPU-0\), which takes {most} MPS clients"):
        plans_of(node_of(gpu), entry(replicas=most + 1))


def test_mig_devices_are_refused_by_name() -> None:
    config = config_of(sharing=mps(entry()), mig="single")
    with pytest.raises(SuiteError, match="holds the MIG devices MIG-0-0, MIG-0-1"):
        build_resources(node_of(mig_gpu(0, "1g.5gb", "1g.5gb")), config)


def test_the_device_of_a_platform_without_uuids_is_planned_for_without_limits() -> None:
    (plan,) = plans_of(node_of(platform=Platform.TEGRA), entry())
    assert plan == plan_of("tegra", limit=None)


def test_mig_devices_are_refused_by_the_plan_too() -> None:
    resources, _ = build_resources(
        node_of(mig_gpu(0, "1g.5gb")), config_of(sharing=time_slicing(entry()), mig="single")
    )
    shared = [replace(resource, sharing=config_of(sharing=mps(entry())).sharing.strategy) for resource in resources]
    with pytest.raises(MpsError, match="holds the MIG devices MIG-0-0"):
        plan_daemons(shared, config_of(sharing=mps(entry()), mig="single"))


def test_a_daemon_sees_only_its_own_gpus() -> None:
    assert plan_of("GPU-1", "GPU-0").start_environment(MpsRoot("/mps/")) == {
        "CUDA_MPS_LOG_DIRECTORY": "/mps/nvidia.com/gpu/log",
        "CUDA_MPS_PIPE_DIRECTORY": "/mps/nvidia.com/gpu/pipe",
        "CUDA_VISIBLE_DEVICES": "GPU-1,GPU-0",
    }


def test_the_layout_of_the_shared_directory() -> None:
    root = MpsRoot("/mps")
    assert (root.shm, root.ready, root.compute_modes) == ("/mps/shm", "/mps/.ready", "/mps/.compute-modes.json")
    assert root.started("nvidia.com/gpu") == "/mps/nvidia.com/gpu/.started"


def _gpu(index: int, memory: int) -> Gpu:
    return ampere(index, memory=memory * MIB)


@given(
    st.lists(st.integers(1_000, 200_000), min_size=1, max_size=8),
    st.integers(2, 48),
    st.floats(0.1, 20, allow_nan=False),
)
def test_nobody_is_promised_more_memory_than_a_gpu_has(memories: list[int], replicas: int, factor: float) -> None:
    node = node_of(*(_gpu(index, memory) for index, memory in enumerate(memories)))
    (plan,) = plans_of(node, entry(replicas=replicas, memory_factor=factor))
    for gpu, memory in zip(plan.gpus, memories, strict=True):
        assert gpu.memory_limit <= memory
        if factor <= 1:
            assert gpu.memory_limit * replicas <= memory
