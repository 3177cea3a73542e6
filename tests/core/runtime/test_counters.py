"""The numbers that a program keeps about itself."""

import threading

import pytest

from gpu_core.runtime.counters import Counters, Metric, MetricKind, Sample

XIDS = Metric(name="xids_total", help="XIDs seen.", labels=("xid",))
DEVICES = Metric(name="devices", help="Devices.", kind=MetricKind.GAUGE, labels=("resource", "health"))


def test_counters_grow_from_zero() -> None:
    counters = Counters()
    counters.add(XIDS, xid="79")
    counters.add(XIDS, 2, xid="79")
    counters.add(XIDS, xid="13")
    assert counters.snapshot() == (
        Sample(metric=XIDS, labels=(("xid", "13"),), value=1),
        Sample(metric=XIDS, labels=(("xid", "79"),), value=3),
    )


def test_gauges_are_set_and_a_whole_family_replaced() -> None:
    counters = Counters()
    counters.set(DEVICES, 8, health="healthy", resource="gpu")
    counters.set(DEVICES, 7, health="healthy", resource="gpu")
    counters.replace(DEVICES, [({"resource": "gpu", "health": "unhealthy"}, 1)])
    assert counters.snapshot() == (
        Sample(metric=DEVICES, labels=(("resource", "gpu"), ("health", "unhealthy")), value=1),
    )


def test_labels_must_be_the_familys() -> None:
    with pytest.raises(ValueError, match="has the labels"):
        Counters().add(XIDS)


def test_no_count_is_lost_between_threads() -> None:
    counters = Counters()

    def count() -> None:
        for _ in range(500):
            counters.add(XIDS, xid="1")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters.snapshot()[0].value == 2000
