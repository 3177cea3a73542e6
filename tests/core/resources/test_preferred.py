"""Answers to the kubelet's question which devices it had best choose."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.resources.asking import config_of, entry, time_slicing
from core.resources.building import mig_gpu, node_of, recorded_node, whole_gpu
from gpu_core.config.words import AllocationPolicy
from gpu_core.devices.model import Inventory, LinkLevel, PairLink
from gpu_core.errors import AllocationError
from gpu_core.resources.aligned import EXACT_UP_TO
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.links import Links, links_by_uuid
from gpu_core.resources.model import Resource
from gpu_core.resources.preferred import prefer

PACKED, DISTRIBUTED = AllocationPolicy.PACKED, AllocationPolicy.DISTRIBUTED


def resource_of(
    node: Inventory, *, replicas: int = 0, mig: str = "none", policy: AllocationPolicy = DISTRIBUTED
) -> Resource:
    sharing = time_slicing(entry(replicas=replicas)) if replicas else None
    (resource,), _ = build_resources(node, config_of(sharing=sharing, mig=mig, policy=policy))
    return resource


def ids(resource: Resource) -> list[str]:
    return [device.id for device in resource.devices]


FOUR = node_of(*(whole_gpu(index, numa_node=index // 2) for index in range(4)))
WHOLE = resource_of(FOUR)
SHARED = resource_of(FOUR, replicas=3)
BRIDGES = recorded_node("a100x8-pcie-bridges")


@pytest.mark.parametrize(
    ("resource", "available", "required", "size", "message"),
    [
        pytest.param(
            WHOLE,
            ["GPU-0"],
            ["GPU-1"],
            1,
            "GPU-1 must be in the allocation but is not available",
            id="a required GPU in use",
        ),
        pytest.param(
            SHARED, ["GPU-0::0"], ["GPU-0::9"], 1, "GPU-0::9 must be in the allocation", id="a required share unknown"
        ),
        pytest.param(WHOLE, ["GPU-0", "GPU-9"], [], 1, "nvidia.com/gpu has no device GPU-9", id="an unknown GPU"),
        pytest.param(
            SHARED, ["GPU-0::0"], [], 2, "2 devices are asked for, but only 1 are available", id="too few shares"
        ),
        pytest.param(
            resource_of(node_of(mig_gpu(0, "1g.5gb")), mig="single"),
            [],
            [],
            1,
            "1 devices are asked for, but only 0 are available",
            id="no MIG device",
        ),
    ],
)
def test_a_request_is_refused_for(
    resource: Resource, available: list[str], required: list[str], size: int, message: str
) -> None:
    with pytest.raises(AllocationError, match=message):
        prefer(resource, {}, available, required, size)


@pytest.mark.parametrize(
    ("resource", "available", "required", "size", "answer"),
    [
        pytest.param(WHOLE, ["GPU-0"], [], 0, (), id="nothing for size 0"),
        pytest.param(SHARED, ["GPU-0::0"], [], -1, (), id="nothing for a negative size"),
        pytest.param(WHOLE, ["GPU-0"], [], 2, (), id="no preference for more GPUs than are free"),
        pytest.param(WHOLE, ["GPU-0", "GPU-1"], ["GPU-0", "GPU-1"], 1, (), id="nor for fewer than are required"),
        pytest.param(WHOLE, ["GPU-0", "GPU-0", "GPU-1"], [], 2, ("GPU-0", "GPU-1"), id="an id named twice counts once"),
        pytest.param(
            WHOLE,
            ["GPU-0", "GPU-1"],
            ["GPU-1", "GPU-1"],
            2,
            ("GPU-0", "GPU-1"),
            id="a required id named twice does, too",
        ),
        pytest.param(
            SHARED, ["GPU-0::0", "GPU-0::0", "GPU-0::1"], [], 2, ("GPU-0::0", "GPU-0::1"), id="and so does a share"
        ),
        pytest.param(SHARED, ["GPU-0::0", "nope"], [], 1, ("GPU-0::0",), id="an unknown share is passed over"),
        pytest.param(
            SHARED,
            ["GPU-0::0", "GPU-0::1"],
            ["GPU-0::0", "GPU-0::1"],
            1,
            ("GPU-0::0", "GPU-0::1"),
            id="all that is required",
        ),
        pytest.param(
            WHOLE,
            ["GPU-3", "GPU-2", "GPU-1"],
            [],
            2,
            ("GPU-2", "GPU-3"),
            id="without links GPUs of one NUMA node, by index",
        ),
        pytest.param(
            WHOLE, ["GPU-3", "GPU-2", "GPU-1"], ["GPU-1"], 2, ("GPU-1", "GPU-2"), id="beside what is required, by index"
        ),
    ],
)
def test_the_answer_is(
    resource: Resource, available: list[str], required: list[str], size: int, answer: tuple[str, ...]
) -> None:
    assert prefer(resource, {}, available, required, size) == answer


@pytest.mark.parametrize(
    ("policy", "available", "size", "answer"),
    [
        pytest.param(DISTRIBUTED, "0::0 0::1 1::0 1::1", 2, "0::0 1::0", id="distributed takes from each GPU in turn"),
        pytest.param(PACKED, "0::0 0::1 1::0 1::1", 2, "0::0 0::1", id="packed fills one GPU"),
        pytest.param(DISTRIBUTED, "0::0 1::0 1::1", 1, "1::0", id="distributed takes from the least used GPU"),
        pytest.param(PACKED, "0::0 0::1 1::1", 1, "1::1", id="packed takes from the most used GPU"),
        pytest.param(PACKED, "0::0 0::1 1::1", 2, "1::1 0::0", id="and then from the next"),
    ],
)
def test_shares_are_taken(policy: AllocationPolicy, available: str, size: int, answer: str) -> None:
    resource = resource_of(node_of(whole_gpu(0), whole_gpu(1)), replicas=2, policy=policy)
    chosen = prefer(resource, {}, [f"GPU-{share}" for share in available.split()], [], size)
    assert " ".join(share.removeprefix("GPU-") for share in chosen) == answer


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        pytest.param(DISTRIBUTED, ("MIG-0-0", "MIG-1-0", "MIG-0-1"), id="distributed spreads over the GPUs"),
        pytest.param(PACKED, ("MIG-0-0", "MIG-0-1", "MIG-1-0"), id="packed fills a GPU first"),
    ],
)
def test_mig_devices_are_taken(policy: AllocationPolicy, answer: tuple[str, ...]) -> None:
    node = node_of(mig_gpu(0, "1g.5gb", "1g.5gb"), mig_gpu(1, "1g.5gb", "1g.5gb"))
    resource = resource_of(node, mig="single", policy=policy)
    assert prefer(resource, {}, ids(resource), [], 3) == answer


@given(st.data())
def test_shares_are_spread_as_evenly_as_can_be(data: st.DataObject) -> None:
    available = data.draw(st.lists(st.sampled_from(ids(SHARED)), unique=True, min_size=1))
    size = data.draw(st.integers(1, len(available)))
    required = data.draw(st.lists(st.sampled_from(available), unique=True, max_size=size))
    chosen = prefer(SHARED, {}, available, required, size)
    assert len(set(chosen)) == size
    assert set(required) <= set(chosen) <= set(available)
    used = Counter(share.split("::")[0] for share in ids(SHARED) if share not in available or share in chosen)
    # No GPU that gave a share ended with two more in use than one that had another to give.
    givers = {share.split("::")[0] for share in chosen if share not in required}
    others = {share.split("::")[0] for share in available if share not in chosen}
    assert all(used[giver] <= used[other] + 1 for giver, other in product(givers, others))


@given(st.data())
def test_any_answer_for_whole_gpus_is_valid(data: st.DataObject) -> None:
    """Whatever the links say of each other: one-way bridges, unequal counts, unknown levels, lost GPUs."""
    count = data.draw(st.integers(1, 7))
    resource = resource_of(node_of(*(whole_gpu(index, numa_node=index % 2) for index in range(count))))
    link = st.builds(PairLink, level=st.one_of(st.none(), st.sampled_from(LinkLevel)), nvlinks=st.integers(0, 20))
    pairs = [(one, other) for one in ids(resource) for other in ids(resource)]
    links: Links = {pair: data.draw(link) for pair in pairs if data.draw(st.booleans())}
    available = data.draw(st.lists(st.sampled_from(ids(resource)), min_size=1))
    size = data.draw(st.integers(1, len(set(available))))
    required = data.draw(st.lists(st.sampled_from(available), max_size=size))
    chosen = prefer(resource, links, available, required, size)
    assert len(chosen) == len(set(chosen)) == size
    assert set(required) <= set(chosen) <= set(available)
    assert chosen == prefer(resource, links, available, required, size)


def test_the_order_of_the_request_decides_between_equals() -> None:
    resource = resource_of(BRIDGES)
    backwards = ids(resource)[::-1]
    assert prefer(resource, links_by_uuid(BRIDGES), backwards, [], 2) == tuple(backwards[:2])


def test_many_unlike_gpus_get_a_good_answer() -> None:
    node = node_of(*(whole_gpu(index) for index in range(2 * EXACT_UP_TO)))
    resource = resource_of(node)
    names = ids(resource)
    # Every pair is at a distance of its own but four GPUs, which share one switch.
    levels = list(LinkLevel)[1:]
    links: Links = {
        (one, other): PairLink(
            level=levels[(a * b + a + b) % 5], nvlinks=18 if {a, b} <= {3, 11, 17, 29} else (a + b) % 3
        )
        for (a, one), (b, other) in product(enumerate(names), repeat=2)
    }
    assert prefer(resource, links, names, [], 4) == tuple(names[index] for index in (3, 11, 17, 29))
    assert names[5] in prefer(resource, links, names, [names[5]], 9)
