"""Labels about the node as a whole: timestamp, machine, versions, capabilities and mode."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.labels.building import FACTS, config, gpu, mig_gpu, node, shares, t4
from gpu_core.config.model import Config, Flags, GfdFlags
from gpu_core.devices.model import Fault, Gpu, PciFacts, Platform
from gpu_core.labels import capabilities, machine, mode, timestamp, versions

LEGAL = re.compile(r"(([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9])?")


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
        pytest.param("服务器", "a16492e3", id="a name without a legal character"),
    ],
)
def test_machine(text: str, expected: str) -> None:
    facts = replace(FACTS, machine_type=text)
    assert machine.label(node(gpu(), facts=facts)).values == {"nvidia.com/gpu.machine": expected}


@given(st.text(max_size=200))
def test_any_machine_file_gives_one_label(text: str) -> None:
    values = machine.label(node(gpu(), facts=replace(FACTS, machine_type=text))).values
    assert len(values["nvidia.com/gpu.machine"]) <= 63
    assert LEGAL.fullmatch(values["nvidia.com/gpu.machine"])


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
    assert [value for value in labels.values.values() if len(value) > 63 or not LEGAL.fullmatch(value)] == []


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
        pytest.param(
            (mig_gpu(0, "1g.5gb"),),
            config(mps=shares("nvidia.com/gpu", 1)),
            {"nvidia.com/mps.capable": "false"},
            id="MPS with one replica, which shares nothing",
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


def test_the_driver_says_why_its_versions_cannot_be_read() -> None:
    failed = Fault(call="SystemGetDriverVersion", code="UNKNOWN")
    labels = versions.driver(node(gpu(), driver_version=None, faults=(failed,)))
    assert labels.failures[0].endswith("left out: nvmlSystemGetDriverVersion failed with UNKNOWN.")
