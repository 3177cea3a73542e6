"""What the node condition says, and since when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from core.health.books import book_of, xid
from core.resources.building import mig_device, mig_gpu, node_of, whole_gpu
from gpu_core.health.summary import Condition, News, changed_at, condition_of, news, patch

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HEALTHY = Condition(status="True", reason="GpusHealthy", message="Both GPUs are healthy.")
NODE = node_of(mig_gpu(0, mig_devices=(mig_device(0, 0, "1g.5gb", gpu_instance=7),)), whole_gpu(1))
XID = "XID 79 (GPU has fallen off the bus) occurred"


@pytest.mark.parametrize(
    ("type_", "healthy"),
    [
        ("GPUHealthy", "True"),
        ("GpuHealthy", "True"),
        ("nvidia.com/GPUsReady", "True"),
        ("healthy", "True"),
        ("GpuUnhealthy", "False"),
        ("GPUUnhealthy", "False"),
        ("gpu-unhealthy", "False"),
        ("GPUUNHealthy", "False"),
        ("GPUUnready", "False"),
        ("GPUProblem", "False"),
        ("GPUHealthyNot", "False"),
    ],
)
def test_the_name_of_the_condition_says_what_true_means(type_: str, healthy: str) -> None:
    book = book_of(NODE)
    unhealthy, _ = book.after_event(xid(gpu="GPU-1"), 5.0)
    assert [condition_of(type_, book).status, condition_of(type_, unhealthy).status] == [
        healthy,
        {"True": "False", "False": "True"}[healthy],
    ]


def test_an_unhealthy_gpu_and_an_unhealthy_mig_device_are_named_with_their_reasons() -> None:
    book, _ = book_of(NODE).after_event(xid(gpu="GPU-0", gi=7, ci=0), 5.0)
    book, _ = book.after_event(xid(gpu="GPU-1"), 6.0)
    condition = condition_of("GPUHealthy", book)
    mig, gpu = NODE.gpus[0].mig_devices[0], NODE.gpus[1]
    assert (condition.status, condition.reason) == ("False", "GpusUnhealthy")
    assert condition.message == (
        f"MIG device 0:0 (1g.5gb, {mig.uuid}): {XID} on this MIG device; GPU 1 ({gpu.name}, GPU-1): {XID}."
    )


def test_many_unhealthy_gpus_are_not_all_named() -> None:
    book, _ = book_of(node_of(*(whole_gpu(index) for index in range(16)))).after_event(xid(gpu=None), 5.0)
    message = condition_of("GPUHealthy", book).message
    assert "GPU 7 " in message
    assert "GPU 8 " not in message
    assert message.endswith("; and 8 more.")


def test_without_gpus_nothing_is_known() -> None:
    assert condition_of("GPUHealthy", book_of(node_of())) == Condition(
        status="Unknown", reason="NoGpu", message="No GPU is known on this node."
    )


@pytest.mark.parametrize(
    ("entries", "since"),
    [
        pytest.param([], "2026-01-02T03:04:05Z", id="a new condition"),
        pytest.param(
            [{"type": "GPUHealthy", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}],
            "2025-01-01T00:00:00Z",
            id="the same status before a restart",
        ),
        pytest.param(
            [{"type": "GPUHealthy", "status": "False", "lastTransitionTime": "2025-01-01T00:00:00Z"}],
            "2026-01-02T03:04:05Z",
            id="another status",
        ),
        pytest.param(
            [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}],
            "2026-01-02T03:04:05Z",
            id="another condition",
        ),
    ],
)
def test_since_when_a_condition_holds(entries: list[dict[str, Any]], since: str) -> None:
    assert changed_at("GPUHealthy", HEALTHY, {"status": {"conditions": entries}}, NOW) == since
    assert changed_at("GPUHealthy", HEALTHY, {}, NOW) == "2026-01-02T03:04:05Z"


def test_the_patch_names_one_condition_only() -> None:
    assert patch("GPUHealthy", HEALTHY, since="2025-01-01T00:00:00Z", now=NOW) == {
        "status": {
            "conditions": [
                {
                    "type": "GPUHealthy",
                    "status": "True",
                    "reason": "GpusHealthy",
                    "message": "Both GPUs are healthy.",
                    "lastHeartbeatTime": "2026-01-02T03:04:05Z",
                    "lastTransitionTime": "2025-01-01T00:00:00Z",
                }
            ]
        }
    }


def test_an_event_names_the_device_and_the_reason() -> None:
    book, (transition,) = book_of(NODE).after_event(xid(gpu="GPU-1"), 5.0)
    name = f"GPU 1 ({NODE.gpus[1].name}, GPU-1)"
    message = f"{name} is unhealthy: {XID}. Drain the node and restart it. If it comes back, ask the vendor's support."
    assert news(transition, book) == News(warning=True, reason="GpuUnhealthy", message=message)
    empty, _ = book.after_inventory(node_of(), 6.0)
    assert news(transition, empty).message.startswith(f"Device GPU-1 is unhealthy: {XID}. ")


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(None, id="no status"),
        pytest.param("Failure", id="a status that is a text"),
        pytest.param({"conditions": {"type": "GPUHealthy"}}, id="conditions that are a mapping"),
        pytest.param({"conditions": [None, "GPUHealthy", 7]}, id="conditions that are none"),
        pytest.param({"conditions": [{"type": "GPUHealthy", "status": "True"}]}, id="a condition without a time"),
        pytest.param(
            {"conditions": [{"type": "GPUHealthy", "status": "True", "lastTransitionTime": 7}]},
            id="a time that is none",
        ),
    ],
)
def test_a_condition_that_the_node_does_not_tell_began_now(status: Any) -> None:
    assert changed_at("GPUHealthy", HEALTHY, {"status": status}, NOW) == "2026-01-02T03:04:05Z"
