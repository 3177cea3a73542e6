"""A Jetson or another Tegra system is seen by its marks, and its GPU is asked through CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.devices.opening import Loader, library
from fakes.driver_root import link, put
from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.model import CudaCompat, Platform
from gpu_core.devices.node_files import MachineFiles
from gpu_core.runtime.roots import Roots

_TREE = "proc/device-tree/compatible"
_BASE = "sys/firmware/devicetree/base/compatible"
_THOR = "nvidia,p3971-0089+p3834-0008\0nvidia,tegra264\0"
_UEVENT = "DRIVER=tegra-hsp\nOF_NAME=hsp\nOF_COMPATIBLE_0=nvidia,tegra264-hsp\nOF_COMPATIBLE_N=1\n"


@pytest.mark.parametrize(
    ("path", "text", "mark"),
    [
        pytest.param("etc/nv_tegra_release", "# R36", "/etc/nv_tegra_release is there", id="L4T's release file"),
        pytest.param("sys/devices/soc0/family", "Tegra\n", "/sys/devices/soc0/family names Tegra", id="a family"),
        pytest.param("sys/devices/soc0/family", "i.MX\n", None, id="another family"),
        pytest.param(
            "proc/device-tree/compatible",
            _THOR,
            "/proc/device-tree/compatible names nvidia,tegra264",
            id="a device tree",
        ),
        pytest.param(_BASE, _THOR, f"/{_BASE} names nvidia,tegra264", id="a device tree in sysfs"),
        pytest.param(_BASE, "raspberrypi,4-model-b\0brcm,bcm2711\0", None, id="another maker's device tree"),
        pytest.param(_BASE, "nvidia,grace\0", None, id="another chip of NVIDIA's"),
        pytest.param(
            "sys/bus/platform/devices/3c00000.hsp/uevent",
            _UEVENT,
            "/sys/bus/platform/devices has a device nvidia,tegra264-hsp",
            id="a container, from which the device tree is hidden",
        ),
        pytest.param("sys/bus/platform/devices/pcspkr/uevent", "MODALIAS=nvidia,tegra\n", None, id="another device"),
        pytest.param("etc/os-release", "", None, id="none"),
    ],
)
def test_the_marks_of_tegra(tmp_path: Path, path: str, text: str, mark: str | None) -> None:
    put(tmp_path, path, text.encode())
    assert MachineFiles(Roots(root=tmp_path)).tegra_mark() == mark


def test_a_tegra_system_is_seen_by_its_device_tree(tmp_path: Path) -> None:
    put(tmp_path, _BASE, _THOR.encode())
    opened = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, roots=Roots(root=tmp_path), loader=Loader())
    assert opened.platform is Platform.TEGRA


@pytest.mark.parametrize(
    ("name", "strategy", "compat"),
    [
        ("Orin (nvgpu)", DeviceDiscoveryStrategy.AUTO, CudaCompat(version=(12, 6), orin=True)),
        ("NVIDIA Thor", DeviceDiscoveryStrategy.AUTO, CudaCompat(version=(12, 6))),
        ("NVIDIA Thor", DeviceDiscoveryStrategy.TEGRA, CudaCompat(version=(12, 6))),
    ],
)
def test_nvml_tells_the_cuda_version_of_a_tegra_chips_driver(
    tmp_path: Path, name: str, strategy: DeviceDiscoveryStrategy, compat: CudaCompat
) -> None:
    loader = Loader(libnvidia_ml=library({"cuda": "12.6", "gpus": [{"name": name}]}))
    read = open_backend(strategy=strategy, roots=Roots(root=tmp_path), loader=loader).read()
    assert (read.platform, read.cuda_compat) == (Platform.TEGRA, compat)


@pytest.mark.parametrize("happened", ["fail Init * UNKNOWN", "fail SystemGetCudaDriverVersion * UNKNOWN"])
def test_nvml_that_tells_no_version_leaves_a_tegra_chip_as_it_is(tmp_path: Path, happened: str) -> None:
    broken = library({"gpus": [{"name": "NVIDIA Thor"}]}, happened, events=tmp_path / "events")
    backend = open_backend(strategy=DeviceDiscoveryStrategy.TEGRA, loader=Loader(libnvidia_ml=broken))
    assert (backend.platform, backend.read().cuda_compat) == (Platform.TEGRA, None)


def test_a_tegra_system_without_nvml_is_asked_through_cuda(tmp_path: Path) -> None:
    release = tmp_path / "etc/nv_tegra_release"
    release.parent.mkdir()
    release.touch()
    loader = Loader()
    opened = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, roots=Roots(root=tmp_path), loader=loader)
    assert opened.platform is Platform.TEGRA
    assert loader.asked[-1] == "libcuda.so.1"


def test_tegra_is_asked_through_cuda_when_told_to() -> None:
    opened = open_backend(strategy=DeviceDiscoveryStrategy.TEGRA, loader=Loader(libcuda=object()))
    assert [str(fault) for fault in opened.read().faults] == ["cuInit failed with FUNCTION_NOT_FOUND"]


def test_libcuda_of_a_tegra_chip_is_searched_for_as_the_driver_is(tmp_path: Path) -> None:
    put(tmp_path, "usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1")
    link(tmp_path, "usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1", "libcuda.so.1.1")
    put(tmp_path, "etc/ld.so.conf.d/nvidia-tegra.conf", b"/usr/lib/aarch64-linux-gnu/tegra\n")
    loader = Loader()
    open_backend(strategy=DeviceDiscoveryStrategy.TEGRA, driver_root_ctr=str(tmp_path), loader=loader)
    assert loader.asked[-2:] == [f"{tmp_path}/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1", "libcuda.so.1"]
