"""Answers to the kubelet's question which devices it had best choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.resources.asking import config_of, entry, time_slicing
from core.resources.building import mig_gpu, node_of, recorded_node, whole_gpu
from gpu_core.config.words import AllocationPolicy
from gpu_core.devices.model import Inventory, LinkLevel, PairLink
from gpu_core.preference.closeness import Links, links_by_uuid
from gpu_core.preference.preferred import EXACT_UP_TO, Impossible, prefer
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.model import Resource

PACKED, DISTRIBUTED = AllocationPolicy.PACKED, AllocationPolicy.DISTRIBUTED


def resource_of(
    node: Inventory, *, replicas: int = 0, mig: str = "none", policy: AllocationPolicy = DISTRIBUTED
) -> Resource:
    sharing = time_slicing(entry(replicas=replicas)) if replicas else None
    (resource,), _ = build_resources(node, config_of(sharing=sharing, mig=mig, policy=policy))
    return resource


def choose(
    resource: Resource, links: Links, available: Sequence[str], required: Sequence[str], size: int
) -> tuple[str, ...]:
    """Ask what can be met."""
    answer = prefer(resource, links, available, required, size)
    assert isinstance(answer, tuple)
    return answer


def ids(resource: Resource) -> list[str]:
    return [device.id for device in resource.devices]


FOUR = node_of(*(whole_gpu(index, numa_node=index // 2) for index in range(4)))
WHOLE = resource_of(FOUR)
SHARED = resource_of(FOUR, replicas=3)
BRIDGES = recorded_node("a100x8-pcie-bridges")


KINDS = [
    pytest.param(WHOLE, id="whole GPUs"),
    pytest.param(SHARED, id="shares"),
    pytest.param(resource_of(node_of(mig_gpu(0, "1g.5gb", "1g.5gb", "1g.5gb")), mig="single"), id="MIG devices"),
    pytest.param(resource_of(recorded_node("wsl")), id="the only device of WSL"),
]


@pytest.mark.parametrize("resource", KINDS)
@pytest.mark.parametrize(
    ("available", "required", "size", "reason"),
    [
        pytest.param([0], [], -1, "it asks for -1 devices", id="a negative size"),
        pytest.param([0], [], 2, "it asks for 2 devices, and only 1 is available", id="more than are available"),
        pytest.param([], [], 1, "it asks for 1 device, and only 0 are available", id="nothing is available"),
        pytest.param(
            [0, "nope"],
            [],
            2,
            "it asks for 2 devices, and only 1 is available",
            id="more than are available and known",
        ),
        pytest.param([0, 0], [], 2, "it asks for 2 devices, and only 1 is available", id="one that is named twice"),
        pytest.param(
            [0], [0], 0, "it requires 1 device and asks for only 0", id="nothing, though something is required"
        ),
        pytest.param(
            [], [0], 1, "it requires devices that are not available: {0}", id="a required device that is in use"
        ),
        pytest.param(
            [0, "nope"],
            ["nope"],
            1,
            "it requires devices that are not available: nope",
            id="a required device that is unknown",
        ),
        pytest.param(
            [0],
            ["a", "b", "c", "d", "e", 0],
            6,
            "it requires devices that are not available: a, b, c and 2 more",
            id="many required devices that are unknown",
        ),
    ],
)
def test_a_question_that_cannot_be_met_gets_a_reason_instead_of_devices(
    resource: Resource, available: list[int | str], required: list[int | str], size: int, reason: str
) -> None:
    names = ids(resource)
    free, fixed = (
        [names[number] if isinstance(number, int) else number for number in numbers]
        for numbers in (available, required)
    )
    assert prefer(resource, {}, free, fixed, size) == Impossible(reason=reason.format(*names))


@pytest.mark.parametrize("resource", KINDS[:3])
def test_two_required_devices_do_not_fit_into_one(resource: Resource) -> None:
    names = ids(resource)
    answer = prefer(resource, {}, names, names[:2], 1)
    assert answer == Impossible(reason="it requires 2 devices and asks for only 1")


@pytest.mark.parametrize("resource", KINDS)
def test_nothing_is_preferred_where_nothing_is_asked_for(resource: Resource) -> None:
    assert [prefer(resource, {}, available, [], 0) for available in (ids(resource), [])] == [(), ()]


@given(st.data(), st.sampled_from([kind.values[0] for kind in KINDS]))
def test_every_question_gets_a_full_answer_or_a_reason(data: st.DataObject, resource: Resource) -> None:
    any_id = st.one_of(st.sampled_from(ids(resource)), st.text(max_size=3))
    available = data.draw(st.lists(any_id, max_size=8))
    required = data.draw(st.lists(any_id, max_size=3))
    size = data.draw(st.integers(-2, 6))
    answer = prefer(resource, {}, available, required, size)
    free = set(available) & set(ids(resource))
    possible = set(required) <= free and len(set(required)) <= size <= len(free)
    assert isinstance(answer, tuple) == possible
    if isinstance(answer, tuple):
        assert len(answer) == len(set(answer)) == size
        assert set(required) <= set(answer) <= free


@pytest.mark.parametrize(
    ("resource", "available", "required", "size", "answer"),
    [
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
        pytest.param(SHARED, ["nope", "GPU-0::0"], [], 1, ("GPU-0::0",), id="an unknown share is passed over"),
        pytest.param(WHOLE, ["GPU-9", "GPU-0"], [], 1, ("GPU-0",), id="and so is an unknown GPU"),
        pytest.param(
            SHARED,
            ["GPU-0::0", "GPU-0::1", "GPU-0::2"],
            ["GPU-0::2", "GPU-0::1"],
            2,
            ("GPU-0::2", "GPU-0::1"),
            id="all that is required, where no more is asked for",
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
    assert choose(resource, {}, available, required, size) == answer


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
    chosen = choose(resource, {}, [f"GPU-{share}" for share in available.split()], [], size)
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
    assert choose(resource, {}, ids(resource), [], 3) == answer


@given(st.data())
def test_shares_are_spread_as_evenly_as_can_be(data: st.DataObject) -> None:
    available = data.draw(st.lists(st.sampled_from(ids(SHARED)), unique=True, min_size=1))
    size = data.draw(st.integers(1, len(available)))
    required = data.draw(st.lists(st.sampled_from(available), unique=True, max_size=size))
    chosen = choose(SHARED, {}, available, required, size)
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
    chosen = choose(resource, links, available, required, size)
    assert len(chosen) == len(set(chosen)) == size
    assert set(required) <= set(chosen) <= set(available)
    assert chosen == choose(resource, links, available, required, size)


def test_the_order_of_the_request_decides_between_equals() -> None:
    resource = resource_of(BRIDGES)
    backwards = ids(resource)[::-1]
    assert choose(resource, links_by_uuid(BRIDGES), backwards, [], 2) == tuple(backwards[:2])


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
    assert choose(resource, links, names, [], 4) == tuple(names[index] for index in (3, 11, 17, 29))
    assert names[5] in choose(resource, links, names, [names[5]], 9)
