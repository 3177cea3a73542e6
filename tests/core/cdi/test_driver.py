"""A driver is found in every layout that distributions use, and its absence is told clearly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.devices.test_ldcache import X86_64, cache
from fakes import driver_root
from gpu_core.cdi.driver import DriverSearch, find_driver, find_extras
from gpu_core.cdi.driver_files import DriverFiles, File
from gpu_core.errors import CdiError

VERSION = "550.90.07"


def find(root: Path, version: str | None = VERSION, **options: Any) -> DriverFiles:
    return find_driver(
        DriverSearch(
            root=str(root),
            dev_root="/nowhere",
            version=version,
            machine="x86_64",
            release="6.1.0",
            sys_root="/nowhere",
            **options,
        )
    )


@pytest.mark.parametrize(
    ("build", "folder"),
    [
        pytest.param(driver_root.debian, "/usr/lib/x86_64-linux-gnu", id="Debian"),
        pytest.param(driver_root.debian_aarch64, "/usr/lib/aarch64-linux-gnu", id="Debian on Arm"),
        pytest.param(driver_root.rhel, "/usr/lib64", id="Red Hat"),
        pytest.param(driver_root.driver_container, "/usr/lib/x86_64-linux-gnu", id="driver container"),
    ],
)
def test_finds_the_driver(tmp_path: Path, build: Callable[[Path], Path], folder: str) -> None:
    found = find(build(tmp_path))
    assert found.version == VERSION
    assert found.library_directories == (folder,)
    assert [library.path for library in found.libraries] == [
        f"{folder}/libGLX_nvidia.so.{VERSION}",
        f"{folder}/libcuda.so.{VERSION}",
        f"{folder}/libnvidia-ml.so.{VERSION}",
        f"{folder}/libnvidia-opticalflow.so.{VERSION}",
        f"{folder}/vdpau/libvdpau_nvidia.so.{VERSION}",
    ]
    assert {library.path.rpartition("/")[2]: (library.soname, library.links) for library in found.libraries}[
        f"libcuda.so.{VERSION}"
    ] == ("libcuda.so.1", frozenset({"libcuda.so", "libcuda.so.1"}))
    assert [file.path for file in found.binaries] == [
        "/usr/bin/nvidia-smi",
        "/usr/bin/nvidia-persistenced",
        "/usr/bin/nvidia-cuda-mps-control",
    ]
    assert [file.path for file in found.firmware] == [f"/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin"]


def test_finds_configs_and_sockets_of_a_driver_container(tmp_path: Path) -> None:
    found = find(driver_root.driver_container(tmp_path))
    assert found.configs == (
        File(
            seen=f"{tmp_path}/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
            path="/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
        ),
        # Containers look for Vulkan's configs in /etc, wherever the host keeps them.
        File(seen=f"{tmp_path}/usr/share/vulkan/icd.d/nvidia_icd.json", path="/etc/vulkan/icd.d/nvidia_icd.json"),
    )
    assert [file.path for file in found.sockets] == ["/run/nvidia-persistenced/socket"]


def test_sockets_can_be_left_away(tmp_path: Path) -> None:
    assert find(driver_root.driver_container(tmp_path), sockets=False).sockets == ()


def test_an_unknown_version_is_read_from_the_libraries(tmp_path: Path) -> None:
    assert find(driver_root.debian(tmp_path, version="535.161.08"), version=None).version == "535.161.08"


def test_the_management_library_stands_in_for_cuda(tmp_path: Path) -> None:
    driver_root.install(tmp_path, version=VERSION, libraries="usr/lib64", libraries_like=["libnvidia-ml.so"])
    assert find(tmp_path).library_directories == ("/usr/lib64",)


def test_libraries_elsewhere_are_found_through_the_loader_cache(tmp_path: Path) -> None:
    driver_root.install(tmp_path, version=VERSION, libraries="opt/nvidia/lib")
    folder = "/opt/nvidia/lib"
    entries = [(X86_64, f"{folder}/libcuda.so.1"), (X86_64, f"{folder}/libnvidia-ml.so.1"), (X86_64, "/gone.so.1")]
    driver_root.put(tmp_path, "etc/ld.so.cache", cache(*entries))
    assert find(tmp_path).library_directories == (folder,)


def test_libraries_elsewhere_are_found_through_the_loader_configuration(tmp_path: Path) -> None:
    driver_root.install(tmp_path, version=VERSION, libraries="opt/nvidia/lib64")
    driver_root.put(tmp_path, "etc/ld.so.conf.d/nvidia.conf", b"/opt/nvidia/lib64\n")
    assert find(tmp_path).library_directories == ("/opt/nvidia/lib64",)


def test_libraries_elsewhere_are_found_where_the_user_says(tmp_path: Path) -> None:
    driver_root.install(tmp_path, version=VERSION, libraries="opt/nvidia/lib64")
    assert find(tmp_path, library_path=("/opt/nvidia/lib64",)).library_directories == ("/opt/nvidia/lib64",)


def test_explicit_libraries_are_found_on_request(tmp_path: Path) -> None:
    driver_root.debian(tmp_path)
    driver_root.put(tmp_path, "usr/lib/x86_64-linux-gnu/libGL.so")
    assert "/usr/lib/x86_64-linux-gnu/libGL.so" not in [library.path for library in find(tmp_path).libraries]
    found = find(tmp_path, explicit_libraries=True)
    assert "/usr/lib/x86_64-linux-gnu/libGL.so" in [library.path for library in found.libraries]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: None, id="an empty root"),
        pytest.param(lambda root: driver_root.debian(root, version="535.1"), id="another version"),
        pytest.param(lambda root: driver_root.put(root, "etc/ld.so.cache", b"junk"), id="an unreadable loader cache"),
        pytest.param(
            lambda root: driver_root.link(root, f"usr/lib64/libcuda.so.{VERSION}", "/../../etc/passwd"),
            id="a library that is a link out of the root",
        ),
    ],
)
def test_a_missing_driver_is_one_clear_message(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    damage(tmp_path)
    looked_for = r"No driver libraries were found: looked for libcuda\.so\.550\.90\.07 .*--driver-library-path"
    with pytest.raises(CdiError, match=looked_for):
        find(tmp_path)


def test_a_root_that_is_not_mounted_is_named(tmp_path: Path) -> None:
    with pytest.raises(CdiError, match=r"The driver root .*/missing does not exist.*--driver-root-ctr-path"):
        find(tmp_path / "missing")


def test_storage_files_stand_apart_from_the_driver(tmp_path: Path) -> None:
    (tmp_path / "run/udev").mkdir(parents=True)
    driver_root.put(tmp_path, "etc/cufile.json")
    found = find_extras(str(tmp_path), "/nowhere")
    assert [file.path for file in found.storage_files] == ["/run/udev", "/etc/cufile.json"]
