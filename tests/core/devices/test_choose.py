"""Opening the machine's own GPUs, where there are none, or what stands for them is broken."""

from __future__ import annotations

import ctypes
import shutil
from importlib.util import find_spec
from pathlib import Path

import pynvml
import pytest

from core.devices.nodes import node, opened
from core.devices.opening import Loader, library, pci_function
from fakes.driver_root import put
from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.library_search import load
from gpu_core.devices.model import Gpu, Inventory, PciFacts, Platform
from gpu_core.devices.node_files import MachineFiles
from gpu_core.devices.nvml.library import LIBRARY
from gpu_core.devices.platform import not_found, where_none_was_found
from gpu_core.errors import DriverMissingError, NvmlCallError
from gpu_core.runtime.roots import Roots


def test_a_file_that_is_no_library_is_named_with_the_reason(tmp_path: Path) -> None:
    broken = tmp_path / LIBRARY
    broken.write_text("no library")
    library, failures = load([str(broken)], ctypes.CDLL)
    assert library is None
    assert [path for path, _ in failures] == [str(broken)]
    assert "file too short" in failures[0][1] or "invalid ELF header" in failures[0][1]


@pytest.mark.parametrize(
    ("searched", "failures", "expected"),
    [
        pytest.param(["A"], [], "lib.so is not in A.", id="one place"),
        pytest.param(["A", "B"], [], "lib.so is neither in A nor in B.", id="two places"),
        pytest.param(
            ["A"], [("/a/lib.so", "no ELF")], "A. /a/lib.so is there, but cannot be loaded: no ELF.", id="one"
        ),
        pytest.param(["A"], [("lib.so", "cannot open")], "lib.so is not in A.", id="what the loader does not find"),
    ],
)
def test_a_missing_driver_is_described(searched: list[str], failures: list[tuple[str, str]], expected: str) -> None:
    assert not_found("lib.so", searched=searched, failures=failures).endswith(expected)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("name its directories inside the driver root with --x.", id="other places"),
        pytest.param("set --device-discovery-strategy=tegra", id="other chips"),
    ],
)
def test_a_missing_driver_comes_with_the_flag_for(part: str) -> None:
    assert part in where_none_was_found("--x")


def test_a_missing_driver_is_told_with_every_place_that_was_searched(tmp_path: Path) -> None:
    put(tmp_path, f"opt/nvidia/lib64/{LIBRARY}", b"no library")
    with pytest.raises(DriverMissingError) as caught:
        open_backend(
            strategy=DeviceDiscoveryStrategy.AUTO,
            driver_root_ctr=str(tmp_path),
            library_path=("/opt/nvidia/lib64",),
            roots=Roots(root=tmp_path),
            loader=Loader(),
        )
    message = str(caught.value)
    assert f"neither in the driver root {tmp_path} (/opt/nvidia/lib64, /, /usr/lib64, " in message
    assert "nor in the loader's own path (LD_LIBRARY_PATH, " in message
    assert f"{tmp_path}/opt/nvidia/lib64/{LIBRARY} is there, but cannot be loaded" in message
    assert "--driver-library-path" in message


def test_gpus_bound_to_vfio_are_read_from_sysfs(tmp_path: Path) -> None:
    window = "0x0000000100000000 0x00000001ffffffff 0x000000000014220c"
    small = "0x00000000f0000000 0x00000000f0ffffff 0x0000000000040200"
    pci_function(tmp_path, "0000:17:00.0", "vfio-pci", numa_node="1", resource=f"{small}\n{window}\njunk")
    pci_function(tmp_path, "0000:07:00.0", "vfio-pci", device="0x1eb8")
    pci_function(tmp_path, "0000:27:00.0", "nvidia")
    pci_function(tmp_path, "0000:37:00.0", "vfio-pci", **{"class": "0x040300"})
    pci_function(tmp_path, "0000:47:00.0", "vfio-pci", physfn="")
    opened = open_backend(strategy=DeviceDiscoveryStrategy.VFIO, roots=Roots(root=tmp_path))

    def facts(address: str, device: int, numa_node: int | None) -> PciFacts:
        return PciFacts(
            address=address, vendor=0x10DE, device=device, class_code=0x030200, numa_node=numa_node, config=b"abc\n"
        )

    assert opened.read(links=True) == Inventory(
        platform=Platform.VFIO,
        mig_minors_known=False,
        gpus=(
            Gpu(
                index=0,
                uuid="0000:07:00.0",
                name="TU104GL [Tesla T4]",
                pci_bus_id="0000:07:00.0",
                pci=facts("0000:07:00.0", 0x1EB8, None),
            ),
            Gpu(
                index=1,
                uuid="0000:17:00.0",
                name="GA100 [A100 PCIe 40GB]",
                pci_bus_id="0000:17:00.0",
                pci=facts("0000:17:00.0", 0x20F1, 1),
                numa_node=1,
                memory=4 << 30,
            ),
        ),
    )
    assert opened.monitor() is None
    opened.close()


def test_a_machine_without_a_pci_bus_has_no_gpus_for_virtual_machines(tmp_path: Path) -> None:
    opened = open_backend(strategy=DeviceDiscoveryStrategy.VFIO, roots=Roots(root=tmp_path))
    assert opened.read() == Inventory(platform=Platform.VFIO, mig_minors_known=False)


def test_mig_minors_and_pci_facts_come_from_the_machines_files(tmp_path: Path) -> None:
    files = MachineFiles(Roots(root=tmp_path))
    assert (files.mig_minors(), files.pci("0000:07:00.0")) == (None, None)
    minors = tmp_path / "proc/driver/nvidia-caps/mig-minors"
    minors.parent.mkdir(parents=True)
    minors.write_text("config 1\ngpu0/gi3/access 30\ngpu0/gi3/ci0/access 31\njunk\n")
    assert files.mig_minors() == {"gpu0/gi3/access": 30, "gpu0/gi3/ci0/access": 31}


T4 = {"gpus": [{"model": "T4"}]}
ORIN = {"gpus": [{"name": "Orin (nvgpu)"}]}


@pytest.mark.parametrize(
    ("document", "dxcore", "platform"),
    [(T4, False, Platform.NVML), (T4, True, Platform.WSL), (ORIN, False, Platform.TEGRA)],
)
def test_the_machines_platform_is_found(tmp_path: Path, document: object, dxcore: bool, platform: Platform) -> None:
    loader = Loader(libnvidia_ml=library(document), **({"libdxcore": object()} if dxcore else {}))
    opened = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, roots=Roots(root=tmp_path), loader=loader)
    found = opened.read()
    opened.close()
    assert (opened.platform, found.platform) == (platform, platform)


@pytest.mark.parametrize("strategy", [DeviceDiscoveryStrategy.AUTO, DeviceDiscoveryStrategy.NVML])
def test_a_driver_that_comes_later_is_found(tmp_path: Path, strategy: DeviceDiscoveryStrategy) -> None:
    roots = Roots(root=tmp_path)
    with pytest.raises(DriverMissingError):
        open_backend(strategy=strategy, roots=roots, driver_root_ctr="/driver-root", loader=Loader())
    events = tmp_path / "events"
    refusing = Loader(libnvidia_ml=library(T4, "fail Init * DRIVER_NOT_LOADED", events=events))
    with pytest.raises(NvmlCallError) as caught:
        open_backend(strategy=strategy, roots=roots, loader=refusing)
    assert (caught.value.call, caught.value.code) == ("Init", "DRIVER_NOT_LOADED")
    opened = open_backend(strategy=strategy, roots=roots, loader=Loader(libnvidia_ml=library(T4)))
    assert [gpu.name for gpu in opened.read().gpus] == ["Tesla T4"]
    opened.close()


def test_a_library_that_is_not_for_this_machine_is_told_with_what_wsl_needs(tmp_path: Path) -> None:
    loader = Loader(
        libnvidia_ml=library(T4, "fail Init * NOT_SUPPORTED", events=tmp_path / "events"), libdxcore=object()
    )
    with pytest.raises(NvmlCallError, match=r"NOT_SUPPORTED\. .*In WSL .*/usr/lib/wsl and /dev/dxg") as caught:
        open_backend(strategy=DeviceDiscoveryStrategy.AUTO, roots=Roots(root=tmp_path), loader=loader)
    assert caught.value.code == "NOT_SUPPORTED"


def test_a_gpu_whose_name_is_lost_is_no_tegra_chip(tmp_path: Path) -> None:
    loader = Loader(libnvidia_ml=library(ORIN, "fail DeviceGetName 0 GPU_IS_LOST", events=tmp_path / "events"))
    opened = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, roots=Roots(root=tmp_path), loader=loader)
    assert opened.platform is Platform.NVML
    opened.close()


def test_a_driver_that_does_not_start_is_let_go_so_that_the_next_one_is_read_from_disk(tmp_path: Path) -> None:
    spec = find_spec("yaml._yaml")
    assert spec is not None
    assert spec.origin is not None
    file = tmp_path / "usr/lib64" / LIBRARY
    file.parent.mkdir(parents=True)
    # Any library serves: it lacks NVML's functions, so that it cannot be started.
    shutil.copyfile(spec.origin, file)
    with pytest.raises(NvmlCallError) as caught:
        open_backend(strategy=DeviceDiscoveryStrategy.NVML, driver_root_ctr=str(tmp_path), roots=Roots(root=tmp_path))
    assert (caught.value.call, caught.value.code) == ("Init", "FUNCTION_NOT_FOUND")
    assert str(file) not in Path("/proc/self/maps").read_text("utf-8")


def test_a_closed_backend_leaves_nothing_to_call() -> None:
    with opened(node({"gpus": [{"model": "T4"}]})):
        assert pynvml.nvmlDeviceGetCount() == 1
    with pytest.raises(pynvml.NVMLError, match="Uninitialized"):
        pynvml.nvmlDeviceGetCount()
