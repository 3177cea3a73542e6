"""What an event of the driver does to which devices."""

from __future__ import annotations

import pytest

from core.health.books import FIRST, PARTED, TWO, book_of, unhealthy, xid
from gpu_core.devices.backend import DeviceEvent, EventKind
from gpu_core.devices.model import Inventory
from gpu_core.health.catalogue import xid_advice
from gpu_core.health.ledger import Cause, DeviceHealth, Transition
from gpu_core.health.xids import Verdict

HELP = xid_advice(79)


@pytest.mark.parametrize(
    ("node", "event", "ids"),
    [
        pytest.param(TWO, xid(), ["GPU-0"], id="an XID concerns its GPU"),
        pytest.param(TWO, xid(gpu="GPU-1"), ["GPU-1"], id="and no other"),
        pytest.param(TWO, xid(13), [], id="an ignored XID concerns none"),
        pytest.param(TWO, xid(gpu=None), ["GPU-0", "GPU-1"], id="an XID on a GPU that cannot be told concerns all"),
        pytest.param(TWO, xid(13, None), [], id="unless it is ignored"),
        pytest.param(TWO, xid(gpu="GPU-9"), [], id="an unknown GPU concerns none"),
        pytest.param(TWO, xid(gi=1, ci=0), ["GPU-0"], id="an instance on an undivided GPU concerns the GPU"),
        pytest.param(
            PARTED, xid(), ["MIG-0-0", "MIG-0-1", "MIG-0-2"], id="an XID without instances concerns all MIG devices"
        ),
        pytest.param(PARTED, xid(gi=7, ci=0), ["MIG-0-0"], id="both instances name one MIG device"),
        pytest.param(PARTED, xid(gi=2, ci=1), ["MIG-0-2"], id="even beside another in the same GPU instance"),
        pytest.param(PARTED, xid(gi=2), ["MIG-0-1", "MIG-0-2"], id="a GPU instance alone names all within it"),
        pytest.param(
            PARTED, xid(ci=0), ["MIG-0-0", "MIG-0-1"], id="a compute instance alone names each of that number"
        ),
        pytest.param(PARTED, xid(gi=5, ci=0), [], id="an instance without MIG device concerns none"),
        pytest.param(
            TWO, DeviceEvent(kind=EventKind.DOUBLE_BIT_ECC, gpu_uuid="GPU-0", data=1), [], id="ECC events concern none"
        ),
    ],
)
def test_an_event_makes_unhealthy(node: Inventory, event: DeviceEvent, ids: list[str]) -> None:
    book, _ = book_of(node).after_event(event, 5)
    assert unhealthy(book, node) == ids


@pytest.mark.parametrize(
    ("node", "mig", "event", "ids"),
    [
        pytest.param(TWO, "none", xid(), ["GPU-0::0", "GPU-0::1"], id="every share of a GPU"),
        pytest.param(PARTED, "mixed", xid(gi=7), ["MIG-0-0::0", "MIG-0-0::1"], id="every share of a MIG device"),
        pytest.param(PARTED, "none", xid(gi=7), ["GPU-0::0", "GPU-0::1"], id="the whole GPU where MIG is not served"),
    ],
)
def test_shares_are_unhealthy_together(node: Inventory, mig: str, event: DeviceEvent, ids: list[str]) -> None:
    book, _ = book_of(node).after_event(event, 5)
    assert unhealthy(book, node, mig=mig, shares=True) == ids


@pytest.mark.parametrize(
    ("event", "verdict"),
    [
        pytest.param(
            xid(13),
            Verdict(reason="XID 13 (Graphics engine exception) is ignored", advice=xid_advice(13)),
            id="that an XID is ignored",
        ),
        pytest.param(
            DeviceEvent(kind=EventKind.SINGLE_BIT_ECC, gpu_uuid="GPU-0", data=1),
            Verdict(reason="single-bit-ecc events do not change health"),
            id="that a kind of event is not judged",
        ),
        pytest.param(
            xid(gpu="GPU-9"),
            Verdict(
                reason="XID 79 (GPU has fallen off the bus) occurred on GPU-9, which is not managed here", advice=HELP
            ),
            id="that a GPU is unknown",
        ),
        pytest.param(
            xid(gi=5),
            Verdict(
                reason="XID 79 (GPU has fallen off the bus) occurred on an instance of GPU-0 that has no MIG device",
                advice=HELP,
            ),
            id="that an instance is unknown",
        ),
        pytest.param(
            xid(gi=7),
            Verdict(
                unhealthy=("MIG-0-0",),
                reason="XID 79 (GPU has fallen off the bus) occurred on this MIG device",
                advice=HELP,
            ),
            id="which device is unhealthy",
        ),
    ],
)
def test_a_verdict_says_for_the_log(event: DeviceEvent, verdict: Verdict) -> None:
    assert book_of(PARTED).verdict(event) == verdict


def test_a_change_is_told_once_with_reason_and_time() -> None:
    book, first = book_of(TWO).after_event(xid(), 5)
    book, second = book.after_event(xid(48), 6)
    reason = "XID 79 (GPU has fallen off the bus) occurred"
    assert first == (Transition(uuid="GPU-0", healthy=False, cause=Cause.XID, reason=reason, at=5, advice=HELP),)
    assert second == ()
    assert book.state(FIRST.uuid) == DeviceHealth(healthy=False, reason=reason, since=5, cause="xid", advice=HELP)


def test_each_xid_of_an_unhealthy_gpu_is_kept_with_what_helps_against_it() -> None:
    book, _ = book_of(TWO).after_event(xid(94), 5)
    for moment, number in enumerate([79, 94, 79], start=6):
        book, told = book.after_event(xid(number), moment)
        assert told == ()
    assert [(entry.since, entry.advice) for entry in book.concerning(FIRST.uuid)] == [
        (5, xid_advice(94)),
        (6, xid_advice(79)),
    ]


def test_a_driver_that_reports_ever_new_xids_fills_no_memory() -> None:
    book = book_of(TWO)
    for number in range(1000, 1100):
        book, _ = book.after_event(xid(number), number)
    assert len(book.concerning(FIRST.uuid)) == 8
