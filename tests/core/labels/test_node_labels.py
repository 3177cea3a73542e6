"""Labels about the node as a whole: machine, versions, capabilities, mode, fabric and vGPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.labels.building import FACTS, config, gpu, mig_gpu, node, shares, t4
from gpu_core.config.model import Config, Flags, GfdFlags
from gpu_core.config.words import MigStrategy
from gpu_core.devices.model import Fabric, Fault, Gpu, PciFacts, Platform, UnreadableGpu
from gpu_core.labels import NodeFacts, capabilities, fabric, faults, machine, mode, timestamp, versions, vgpu

LOST = Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST")


def test_the_timestamp_is_that_of_the_configuration() -> None:
    assert timestamp.label(node()).values == {"nvidia.com/gfd.timestamp": "1700000000"}


def test_the_timestamp_can_be_left_away() -> None:
    settings = Config(flags=Flags(gfd=GfdFlags(no_timestamp=True)))
    assert timestamp.label(node(config=settings)).values == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("DGX H100", "DGX-H100", id="a firmware's name"),
        pytest.param("", "", id="an empty file"),
        pytest.param("unknown", "unknown", id="no file"),
        pytest.param("-.weird._-", "weird", id="a name that needs trimming"),
    ],
)
def test_machine(text: str, expected: str) -> None:
    facts = replace(FACTS, machine_type=text)
    assert machine.label(node(gpu(), facts=facts)).values == {"nvidia.com/gpu.machine": expected}


@given(st.text(max_size=200))
def test_any_machine_file_gives_one_label(text: str) -> None:
    values = machine.label(node(gpu(), facts=replace(FACTS, machine_type=text))).values
    assert len(values["nvidia.com/gpu.machine"]) <= 63


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("550.90.07", ("550", "90", "07", "550.90.07"), id="three parts"),
        pytest.param("560.94", ("560", "94", "", "560.94"), id="two parts"),
        pytest.param("550.90.07-beta", ("550", "90", "07-beta", "550.90.07-beta"), id="a word behind"),
    ],
)
def test_driver_version(version: str, expected: tuple[str, str, str, str]) -> None:
    major, minor, revision, full = expected
    assert versions.driver(node(gpu(), driver_version=version)).values == {
        "nvidia.com/cuda.driver.major": major,
        "nvidia.com/cuda.driver.minor": minor,
        "nvidia.com/cuda.driver.rev": revision,
        "nvidia.com/cuda.driver-version.major": major,
        "nvidia.com/cuda.driver-version.minor": minor,
        "nvidia.com/cuda.driver-version.revision": revision,
        "nvidia.com/cuda.driver-version.full": full,
    }


@pytest.mark.parametrize("platform", [Platform.TEGRA, Platform.VFIO])
def test_a_platform_without_a_driver_version_says_unknown(platform: Platform) -> None:
    values = versions.driver(node(gpu(), platform=platform, driver_version=None)).values
    assert values["nvidia.com/cuda.driver-version.full"] == "unknown.unknown.unknown"


@pytest.mark.parametrize(
    ("version", "failure"),
    [
        pytest.param(None, "The driver's version is not known, so its labels are left out.", id="unreadable"),
        pytest.param(
            "550", 'The driver calls its version "550", which is not of the form X.Y or X.Y.Z.', id="one part"
        ),
        pytest.param(
            "1.2.3.4", 'The driver calls its version "1.2.3.4", which is not of the form X.Y or X.Y.Z.', id="four parts"
        ),
    ],
)
def test_an_unusable_driver_version_is_a_failure(version: str | None, failure: str) -> None:
    labels = versions.driver(node(gpu(), driver_version=version))
    assert (labels.values, labels.failures) == ({}, (failure,))


@given(st.text(max_size=120))
def test_any_driver_version_gives_legal_labels_or_a_failure(version: str) -> None:
    labels = versions.driver(node(gpu(), driver_version=version))
    assert bool(labels.values) != bool(labels.failures)
    assert all(len(value) <= 63 for value in labels.values.values())


def test_cuda_version() -> None:
    assert versions.cuda(node(gpu(), cuda_version=(12, 4))).values == {
        "nvidia.com/cuda.runtime.major": "12",
        "nvidia.com/cuda.runtime.minor": "4",
        "nvidia.com/cuda.runtime-version.major": "12",
        "nvidia.com/cuda.runtime-version.minor": "4",
        "nvidia.com/cuda.runtime-version.full": "12.4",
    }


def test_gpus_held_by_vfio_run_no_cuda() -> None:
    values = versions.cuda(node(gpu(), platform=Platform.VFIO, cuda_version=None)).values
    assert values["nvidia.com/cuda.runtime-version.full"] == "0.0"


def test_an_unreadable_cuda_version_is_a_failure() -> None:
    assert versions.cuda(node(gpu(), cuda_version=None)).failures == (
        "The driver's CUDA version is not known, so its labels are left out.",
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param((), {}, id="no GPUs"),
        pytest.param((t4(0),), {"nvidia.com/mig.capable": "false"}, id="no GPU could be partitioned"),
        pytest.param((t4(0), gpu(1)), {"nvidia.com/mig.capable": "true"}, id="one GPU could be partitioned"),
    ],
)
def test_mig_capability(found: tuple[Gpu, ...], expected: dict[str, str]) -> None:
    assert capabilities.mig(node(*found)).values == expected


@pytest.mark.parametrize(
    ("found", "settings", "expected"),
    [
        pytest.param((), Config(), {}, id="no GPUs"),
        pytest.param((gpu(),), Config(), {"nvidia.com/mps.capable": "false"}, id="no sharing"),
        pytest.param(
            (gpu(),),
            config(time_slicing=shares("nvidia.com/gpu", 2)),
            {"nvidia.com/mps.capable": "false"},
            id="time slicing",
        ),
        pytest.param(
            (gpu(),), config(mps=shares("nvidia.com/gpu", 2)), {"nvidia.com/mps.capable": "true"}, id="MPS sharing"
        ),
    ],
)
def test_mps_capability(found: tuple[Gpu, ...], settings: Config, expected: dict[str, str]) -> None:
    labels = capabilities.mps(node(*found, config=settings))
    assert (labels.values, labels.failures) == (expected, ())


def test_mps_sharing_of_a_partitioned_gpu_is_a_failure() -> None:
    labels = capabilities.mps(node(gpu(0), mig_gpu(1, "1g.5gb"), config=config(mps=shares("nvidia.com/gpu", 2))))
    assert labels.values == {}
    assert labels.failures == (
        (
            "The configuration shares GPUs through MPS, which GPUs in MIG mode cannot do. Turn MIG off on this "
            "node, or give it a configuration without sharing.mps."
        ),
    )


def of_class(index: int, class_code: int | None) -> Gpu:
    return gpu(index, pci=PciFacts(address=f"0000:0{index}:00.0", class_code=class_code))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param((), {}, id="no GPUs"),
        pytest.param((of_class(0, 0x030200), of_class(1, 0x030200)), {"nvidia.com/gpu.mode": "compute"}, id="compute"),
        pytest.param((of_class(0, 0x030000),), {"nvidia.com/gpu.mode": "graphics"}, id="graphics"),
        pytest.param((of_class(0, 0x030000), of_class(1, 0x030200)), {"nvidia.com/gpu.mode": "unknown"}, id="both"),
        pytest.param((of_class(0, 0x120000),), {"nvidia.com/gpu.mode": "unknown"}, id="another class"),
        pytest.param((of_class(0, None),), {"nvidia.com/gpu.mode": "unknown"}, id="a class that cannot be read"),
        pytest.param((gpu(pci=None),), {"nvidia.com/gpu.mode": "unknown"}, id="no PCI function"),
        pytest.param((of_class(0, 0x030200), gpu(1, pci=None)), {"nvidia.com/gpu.mode": "unknown"}, id="one without"),
    ],
)
def test_mode(found: tuple[Gpu, ...], expected: dict[str, str]) -> None:
    assert mode.label(node(*found)).values == expected


CLUSTER = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31"


def member(index: int, *, clique: int = 1, cluster: str = CLUSTER, state: int = 3, status: int = 0) -> Gpu:
    return gpu(index, fabric=Fabric(state=state, status=status, clique=clique, cluster_uuid=cluster))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param((gpu(),), {}, id="no fabric"),
        pytest.param((member(0), member(1)), {"nvidia.com/gpu.clique": f"{CLUSTER}.1"}, id="one clique"),
        pytest.param((member(0), gpu(1)), {"nvidia.com/gpu.clique": f"{CLUSTER}.1"}, id="only some are attached"),
        pytest.param((member(0, state=2),), {}, id="the probe has not completed"),
        pytest.param((member(0, status=999),), {}, id="the probe failed"),
        pytest.param((member(0, cluster="00000000-0000-0000-0000-000000000000"),), {}, id="no cluster"),
    ],
)
def test_clique(found: tuple[Gpu, ...], expected: dict[str, str]) -> None:
    labels = fabric.label(node(*found))
    assert (labels.values, labels.warnings) == (expected, ())


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


def function(config: bytes, number: int = 0) -> PciFacts:
    return PciFacts(address=f"0000:07:00.{number}", vendor=0x10DE, config=config)


def virtual(version: bytes = b"535.161.05") -> bytes:
    space = bytearray(256)
    space[0x06], space[0x34] = 0x10, 0x40
    space[0x40:0x5B] = bytes([0x09, 0, 27]) + b"VF" + bytes([0, 22]) + version + b"r536_57\0\0\0"
    return bytes(space)


HOST = {
    "nvidia.com/vgpu.present": "true",
    "nvidia.com/vgpu.host-driver-version": "535.161.05",
    "nvidia.com/vgpu.host-driver-branch": "r536_57",
}
NO_HOST = {"nvidia.com/vgpu.present": "false"}


@pytest.mark.parametrize(
    ("functions", "expected", "warnings"),
    [
        pytest.param((), NO_HOST, (), id="no NVIDIA function"),
        pytest.param((function(bytes(256)),), NO_HOST, (), id="a real GPU"),
        pytest.param((function(bytes(256)), function(virtual(), 1)), HOST, (), id="a virtual GPU"),
        pytest.param(
            None, {}, ("The PCI bus cannot be read, so the vgpu labels are left out.",), id="a bus that cannot be read"
        ),
        pytest.param(
            (function(virtual()), function(b"", 1)),
            {},
            ("The PCI configuration of 0000:07:00.1 cannot be read, so the vgpu labels are left out.",),
            id="a function that cannot be read",
        ),
        pytest.param(
            (function(virtual()[:64], 1), function(virtual()[:64])),
            NO_HOST,
            (
                (
                    "PCI function 0000:07:00.0, 0000:07:00.1 shows only 64 of 256 bytes of configuration space; the "
                    "rest needs privilege; it is taken for no virtual GPU."
                ),
            ),
            id="functions read without privilege",
        ),
    ],
)
def test_vgpu(functions: tuple[PciFacts, ...] | None, expected: dict[str, str], warnings: tuple[str, ...]) -> None:
    labels = vgpu.label(node(facts=NodeFacts(timestamp=0, pci=functions)))
    assert (labels.values, labels.warnings) == (expected, warnings)


def test_a_hosts_version_becomes_a_legal_value() -> None:
    facts = NodeFacts(timestamp=0, pci=(function(virtual(b"-\xff535.1/6\0")),))
    assert vgpu.label(node(facts=facts)).values["nvidia.com/vgpu.host-driver-version"] == "535.16"


@pytest.mark.parametrize(
    ("found", "facts", "expected"),
    [
        pytest.param((gpu(),), {}, (), id="all is well"),
        pytest.param(
            (),
            {"unreadable": (UnreadableGpu(index=3, fault=LOST),)},
            ("GPU 3 has no labels: nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST.",),
            id="a lost GPU",
        ),
        pytest.param(
            (gpu(0, None, faults=(Fault(call="DeviceGetName", code="UNKNOWN"),)),),
            {},
            ("GPU 0 (GPU-0) has no labels: nvmlDeviceGetName failed with UNKNOWN.",),
            id="a GPU without a name",
        ),
        pytest.param(
            (gpu(0, faults=(Fault(call="DeviceGetMemoryInfo", code="GPU_IS_LOST"),)),),
            {},
            (),
            id="a missing memory figure costs one label only",
        ),
        pytest.param(
            (),
            {"faults": (Fault(call="DeviceGetCount", code="UNKNOWN"),)},
            ("The driver cannot be asked: nvmlDeviceGetCount failed with UNKNOWN.",),
            id="a driver that does not count",
        ),
        pytest.param(
            (),
            {"faults": (Fault(call="SystemGetDriverVersion", code="UNKNOWN"),)},
            (),
            id="a version that cannot be read is reported with its labels",
        ),
    ],
)
def test_what_cannot_be_read_is_named(found: tuple[Gpu, ...], facts: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert faults.label(node(*found, **facts)).failures == expected


NO_ATTRIBUTES = Fault(call="DeviceGetAttributes", code="UNKNOWN")
NO_HANDLE = Fault(call="DeviceGetMigDeviceHandleByIndex", code="UNKNOWN")


def test_mig_devices_that_cannot_be_read_are_named_where_they_are_advertised() -> None:
    found = mig_gpu(1, "1g.5gb", faults=(NO_HANDLE,))
    found = replace(found, mig_devices=(replace(found.mig_devices[0], faults=(NO_ATTRIBUTES,)),))
    assert faults.label(node(found, config=config(MigStrategy.MIXED))).failures == (
        "A MIG device of GPU 1 has no labels: nvmlDeviceGetMigDeviceHandleByIndex failed with UNKNOWN.",
        "A MIG device of GPU 1 has no labels: nvmlDeviceGetAttributes failed with UNKNOWN.",
    )
    assert faults.label(node(found)).failures == ()


def test_the_driver_says_why_its_versions_cannot_be_read() -> None:
    failed = Fault(call="SystemGetDriverVersion", code="UNKNOWN")
    labels = versions.driver(node(gpu(), driver_version=None, faults=(failed,)))
    assert labels.failures[0].endswith("left out: nvmlSystemGetDriverVersion failed with UNKNOWN.")
