from __future__ import annotations

import pytest

from core.labels.building import gpu, node
from gpu_core.devices.model import Fabric, Fault, Gpu
from gpu_core.labels import fabric

LOST = Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST")


CLUSTER = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31"


def member(index: int, *, clique: int = 1, cluster: str = CLUSTER, state: int = 3, status: int = 0) -> Gpu:
    return gpu(index, fabric=Fabric(state=state, status=status, clique=clique, cluster_uuid=cluster))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param((gpu(),), {}, id="no fabric"),
        pytest.param((member(0), member(1)), {"nvidia.com/gpu.clique": f"{CLUSTER}.1"}, id="one clique"),
        pytest.param((member(0), gpu(1)), {"nvidia.com/gpu.clique": f"{CLUSTER}.1"}, id="only some are attached"),
        pytest.param((member(0, state=0),), {}, id="no fabric, as the driver says"),
        pytest.param((member(0, cluster="00000000-0000-0000-0000-000000000000"),), {}, id="no cluster"),
    ],
)
def test_clique(found: tuple[Gpu, ...], expected: dict[str, str]) -> None:
    labels = fabric.label(node(*found))
    assert (labels.values, labels.warnings) == (expected, ())


LEFT_OUT = "gpu.clique is left out"
OTHERS = "gpu.clique speaks for the other GPUs alone"
SEE = "See the fabric in `nvidia-smi -q`, and the fabric manager."


@pytest.mark.parametrize(
    ("found", "warnings"),
    [
        pytest.param(
            (member(0, state=2), member(1, state=1)),
            (f"The NVLink fabric has not taken in GPUs 0, 1 yet, so {LEFT_OUT} until it has.",),
            id="the probe has not ended",
        ),
        pytest.param(
            (member(0, status=999),),
            (f"The NVLink fabric has not taken in GPU 0, with NVML error 999, so {LEFT_OUT}. {SEE}",),
            id="the probe failed",
        ),
        pytest.param(
            (member(0, status=999), member(1, state=2), member(2, status=999), member(3, status=15)),
            (
                f"The NVLink fabric has not taken in GPU 1 yet, so {LEFT_OUT} until it has.",
                f"The NVLink fabric has not taken in GPU 3, with NVML error 15, so {LEFT_OUT}. {SEE}",
                f"The NVLink fabric has not taken in GPUs 0, 2, with NVML error 999, so {LEFT_OUT}. {SEE}",
            ),
            id="each GPU has trouble of its own",
        ),
    ],
)
def test_a_fabric_that_is_not_joined_has_no_label_and_the_log_says_why(
    found: tuple[Gpu, ...], warnings: tuple[str, ...]
) -> None:
    labels = fabric.label(node(*found))
    assert (labels.values, labels.warnings) == ({}, warnings)


def test_gpus_that_have_not_joined_the_fabric_of_the_others_are_named() -> None:
    labels = fabric.label(node(member(0), member(1, state=2)))
    assert labels.values == {"nvidia.com/gpu.clique": f"{CLUSTER}.1"}
    assert labels.warnings == (f"The NVLink fabric has not taken in GPU 1 yet, so {OTHERS} until it has.",)


def test_several_cliques_have_no_label() -> None:
    labels = fabric.label(node(member(0), member(1, clique=2)))
    assert labels.values == {}
    assert labels.warnings == (
        f"The GPUs belong to several NVLink cliques ({CLUSTER}.1, {CLUSTER}.2), so gpu.clique is left out.",
    )


def test_a_fabric_that_cannot_be_read_is_a_failure() -> None:
    failed = Fault(call="DeviceGetGpuFabricInfo", code="UNKNOWN")
    labels = fabric.label(node(member(0), gpu(1, gaps=(failed, LOST))))
    assert labels.values == {}
    assert labels.failures == (
        (
            "The NVLink fabric of GPU 1 is not known, so gpu.clique is left out: "
            "nvmlDeviceGetGpuFabricInfo failed with UNKNOWN."
        ),
    )
