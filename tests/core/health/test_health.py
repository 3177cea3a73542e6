"""What stays known of the health of devices when the node or the rules change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.health.books import FIRST, GONE, HEALTHY, OFF, PARTED, TWO, WATCHED, book_of, rules, unhealthy, watch_all, xid
from core.resources.asking import config_of
from core.resources.building import LOST, mig_device, mig_gpu, node_of, whole_gpu
from gpu_core.devices.backend import Answer, Watch, Watching
from gpu_core.devices.model import Fault, Platform
from gpu_core.health import what_helps
from gpu_core.health.book import Changed, HealthBook
from gpu_core.health.catalogue import xid_advice
from gpu_core.health.ledger import Cause, DeviceHealth, Transition, Unhealthy
from gpu_core.resources.device_map import build_resources

NOT_FOUND = Watching(gpu=Watch.WATCHED, mig={"MIG-0-1": LOST})
NOT_READ = node_of(
    mig_gpu(0, mig_devices=(replace(PARTED.gpus[0].mig_devices[0], faults=(LOST,)), *PARTED.gpus[0].mig_devices[1:])),
    whole_gpu(1),
)


def test_what_cannot_be_read_is_unhealthy_until_it_can_be() -> None:
    node = node_of(whole_gpu(0, faults=(LOST,)), whole_gpu(1))
    book, transitions = book_of(TWO).after_inventory(node, 1)
    reason = f"it cannot be read: {LOST}"
    assert transitions == (
        Transition(
            uuid="GPU-0", healthy=False, cause=Cause.UNREADABLE, reason=reason, at=1, advice=what_helps.UNREADABLE
        ),
    )
    book, _ = book.after_probe("GPU-0", HEALTHY, 1_000)
    assert unhealthy(book, node) == ["GPU-0"]
    book, _ = book.after_inventory(TWO, 2_000)
    assert unhealthy(book, TWO) == ["GPU-0"]
    book, transitions = book.after_watch("GPU-0", WATCHED, 3_000)
    assert (unhealthy(book, TWO), [change.reason for change in transitions]) == ([], ["it can be read again"])


def test_a_fact_that_cannot_be_read_for_a_while_takes_no_events_with_it() -> None:
    faulty = node_of(whole_gpu(0, faults=(Fault(call="DeviceGetName", code="UNKNOWN"),)), whole_gpu(1))
    book, _ = book_of(TWO).after_inventory(faulty, 1)
    assert unhealthy(book, TWO) == ["GPU-0"]
    book, transitions = book.after_inventory(TWO, 2)
    assert (unhealthy(book, TWO), [change.healthy for change in transitions]) == ([], [True])


def test_what_nobody_watches_yet_is_unhealthy_and_nothing_is_announced() -> None:
    book, transitions = HealthBook(rules=rules(), started=0).after_inventory(TWO, 0)
    assert (unhealthy(book, TWO), transitions) == (["GPU-0", "GPU-1"], ())
    assert book.state(FIRST.uuid) == DeviceHealth(
        healthy=False,
        reason="its health events are not received yet",
        since=0,
        cause="unchecked",
        advice=what_helps.UNCHECKED,
    )
    book, transitions = book.after_watch("GPU-0", WATCHED, 1)
    assert (unhealthy(book, TWO), transitions) == (["GPU-1"], ())


def test_a_mig_device_that_the_driver_does_not_find_is_unhealthy_and_its_neighbours_are_not() -> None:
    book, transitions = book_of(PARTED, quiet=0).after_watch("GPU-0", NOT_FOUND, 5)
    assert (unhealthy(book, PARTED), [change.uuid for change in transitions]) == (["MIG-0-1"], ["MIG-0-1"])
    book, _ = book.after_probe("GPU-0", HEALTHY, 10)
    assert unhealthy(book, PARTED) == ["MIG-0-1"]
    book, _ = book.after_answer("GPU-0", Answer(watching=WATCHED, probe=HEALTHY), 20)
    assert unhealthy(book, PARTED) == []


@pytest.mark.parametrize(
    ("happens", "part"),
    [
        pytest.param(
            lambda book: book.after_watch("GPU-0", NOT_FOUND, 5), "MIG-0-1", id="that the driver does not find"
        ),
        pytest.param(lambda book: book.after_inventory(NOT_READ, 5), "MIG-0-0", id="that cannot be read"),
    ],
)
def test_a_gpu_that_is_served_whole_does_not_suffer_from_a_mig_device(
    happens: Callable[[HealthBook], Changed], part: str
) -> None:
    book, _ = happens(book_of(PARTED))
    assert (unhealthy(book, PARTED), unhealthy(book, PARTED, mig="none")) == ([part], [])
    assert book.state(FIRST.uuid) == DeviceHealth(healthy=True, reason="it was in order from the start", since=0)


def test_a_gpu_that_is_served_whole_tells_of_the_harm_that_came_to_a_mig_device() -> None:
    book, _ = book_of(PARTED).after_watch("GPU-0", NOT_FOUND, 5)
    book, _ = book.after_event(xid(gi=7), 6)
    reason = "XID 79 (GPU has fallen off the bus) occurred on this MIG device"
    assert book.state(FIRST.uuid) == DeviceHealth(
        healthy=False, reason=reason, since=6, cause="xid", advice=xid_advice(79)
    )
    assert book.concerning(FIRST.uuid) == (Unhealthy(cause=Cause.XID, reason=reason, since=6, advice=xid_advice(79)),)


def test_a_new_mig_device_is_unhealthy_until_it_is_watched() -> None:
    fewer = node_of(mig_gpu(0, mig_devices=PARTED.gpus[0].mig_devices[:2]), whole_gpu(1))
    book, _ = book_of(fewer).after_inventory(PARTED, 5)
    assert (unhealthy(book, PARTED), book.needs_watch(PARTED.gpus[0])) == (["MIG-0-2"], True)


def test_a_device_that_is_gone_is_unhealthy_whatever_still_lists_it() -> None:
    fewer = node_of(mig_gpu(0, mig_devices=PARTED.gpus[0].mig_devices[1:]))
    book, _ = book_of(PARTED).after_inventory(fewer, 5)
    assert unhealthy(book, PARTED) == ["GPU-1", "MIG-0-0"]


def test_what_did_not_answer_has_to_be_watched_anew() -> None:
    book, _ = book_of(TWO, quiet=0).after_probe("GPU-0", GONE, 5)
    assert [book.needs_watch(gpu) for gpu in TWO.gpus] == [True, False]
    book, _ = book.after_probe("GPU-0", HEALTHY, 10)
    assert unhealthy(book, TWO) == ["GPU-0"]
    book, _ = book.after_answer("GPU-0", Answer(watching=WATCHED, probe=HEALTHY), 20)
    assert unhealthy(book, TWO) == []


def test_a_mig_device_that_cannot_be_read_leaves_its_neighbours_alone() -> None:
    parts = (mig_device(0, 0, "1g.5gb", faults=(LOST,)), mig_device(0, 1, "1g.5gb"))
    node = node_of(mig_gpu(0, mig_devices=parts))
    assert unhealthy(book_of(node), node) == ["MIG-0-0"]


def test_a_device_with_two_causes_needs_both_to_go() -> None:
    faulty = node_of(whole_gpu(0, faults=(LOST,)), whole_gpu(1))
    book, _ = book_of(TWO, quiet=0).after_event(xid(), 1)
    book, _ = book.after_inventory(faulty, 2)
    book, transitions = book.after_answer("GPU-0", Answer(watching=WATCHED, probe=HEALTHY), 3)
    assert (unhealthy(book, TWO), transitions) == (["GPU-0"], ())
    book, transitions = book.after_inventory(TWO, 4)
    assert (unhealthy(book, TWO), transitions) == (["GPU-0"], ())
    book, transitions = book.after_answer("GPU-0", Answer(watching=WATCHED, probe=HEALTHY), 5)
    assert (unhealthy(book, TWO), [change.healthy for change in transitions]) == ([], [True])


def test_an_unhealthy_device_stays_so_as_long_as_it_stays() -> None:
    book, _ = book_of(PARTED).after_event(xid(gpu="GPU-1"), 1)
    book, _ = book.after_event(xid(gi=7), 2)
    smaller = node_of(mig_gpu(0, "1g.5gb"), whole_gpu(1), whole_gpu(2))
    book, transitions = book.after_inventory(smaller, 3)
    book = watch_all(book, 4)
    assert (unhealthy(book, smaller), transitions) == (["GPU-1", "MIG-0-0"], ())


def test_what_is_gone_is_forgotten() -> None:
    book, _ = book_of(TWO).after_event(xid(), 1)
    book, _ = book.after_inventory(node_of(whole_gpu(1)), 2)
    book, _ = book.after_inventory(TWO, 3)
    assert unhealthy(watch_all(book, 3), TWO) == []


def test_a_reload_keeps_what_is_unhealthy() -> None:
    book, _ = book_of(TWO).after_event(xid(), 1)
    book, transitions = book.after_rules(rules(quiet=5), 2)
    assert (unhealthy(book, TWO), transitions, book.rules.quiet) == (["GPU-0"], (), 5)


def test_turning_checks_off_makes_healthy_what_can_be_read() -> None:
    node = node_of(whole_gpu(0), whole_gpu(1, faults=(LOST,)))
    book, _ = book_of(node).after_event(xid(gpu=None), 1)
    book, transitions = book.after_rules(rules(policy=OFF), 2)
    assert unhealthy(book, node) == ["GPU-1"]
    reason = "health checks were turned off"
    assert transitions == (Transition(uuid="GPU-0", healthy=True, cause=Cause.XID, reason=reason, at=2),)


def test_without_checks_nothing_but_reading_counts() -> None:
    book = book_of(TWO, policy=OFF)
    assert book.after_event(xid(), 1) == (book, ())
    assert book.after_probe("GPU-0", GONE, 1) == (book, ())
    assert book.after_unwatched(LOST, 1) == (book, ())
    assert book.after_watch("GPU-0", Watching(gpu=LOST), 1) == (book, ())


def test_a_probe_of_a_gpu_that_is_gone_says_nothing() -> None:
    book = book_of(TWO)
    assert book.after_probe("GPU-9", GONE, 1) == (book, ())


@pytest.mark.parametrize("platform", [Platform.TEGRA, Platform.WSL])
def test_devices_of_platforms_without_checks_have_no_gpu_to_ask_for(platform: Platform) -> None:
    (resource,), _ = build_resources(node_of(whole_gpu(0), platform=platform), config_of())
    assert [device.gpu for device in resource.devices] == [None]


def test_a_device_is_not_healthy_before_its_node_was_read() -> None:
    assert book_of(TWO).state("GPU-9") == DeviceHealth(
        healthy=False, reason="the driver does not know it", since=0, cause="unchecked", advice=what_helps.UNKNOWN
    )


def test_a_device_that_never_was_unhealthy_is_healthy_since_the_start() -> None:
    assert book_of(TWO).state(FIRST.uuid) == DeviceHealth(
        healthy=True, reason="it was in order from the start", since=0
    )


def test_an_answer_from_before_a_gpu_was_lost_does_not_make_it_watched() -> None:
    lost = node_of(whole_gpu(0, faults=(LOST,)), whole_gpu(1))
    book, _ = book_of(TWO).after_inventory(lost, 1)
    # It was asked for its events before it left the driver, which then forgot that.
    book, _ = book.after_answer("GPU-0", Answer(watching=WATCHED, probe=HEALTHY), 2)
    book, _ = book.after_inventory(TWO, 3)
    assert (book.watched, unhealthy(book, TWO)) == (frozenset({"GPU-1"}), ["GPU-0"])
