"""Tegra and WSL: what their files say becomes a specification."""

from pathlib import Path

import pytest

from fakes import driver_root
from gpu_core.cdi.driver_files import CharDevice
from gpu_core.cdi.hooks import Hooks
from gpu_core.cdi.model import document
from gpu_core.cdi.platform_files import find_tegra, find_wsl
from gpu_core.cdi.search import Root
from gpu_core.cdi.tegra import CsvEntry, CsvType, TegraFiles, parse_csv, tegra_spec
from gpu_core.cdi.wsl import wsl_spec
from gpu_core.errors import CdiError

HOOKS = Hooks(tool="/usr/bin/nvidia-ctk")
NULL = CharDevice(seen="/dev/null", path="/dev/null", major=1, minor=3)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        pytest.param("dev, /dev/nvmap", (CsvEntry(type=CsvType.DEVICE, path="/dev/nvmap"),), id="an entry"),
        pytest.param("  lib ,  /x,y  ", (CsvEntry(type=CsvType.LIBRARY, path="/x,y"),), id="blanks, and a comma in it"),
        pytest.param("", (), id="an empty file"),
        pytest.param("dev,\nodd, /x\nno comma\n\n", (), id="lines of another form"),
    ],
)
def test_csv_lines(text: str, entries: tuple[CsvEntry, ...]) -> None:
    assert parse_csv(text) == entries


def test_a_jetson_is_described_by_its_csv_files(tmp_path: Path) -> None:
    root = driver_root.tegra(tmp_path)
    files = find_tegra(str(root), "/")
    folder = "/usr/lib/aarch64-linux-gnu"
    assert [device.path for device in files.devices] == ["/dev/null"]
    assert [file.path for file in files.directories] == ["/usr/src/nvidia"]
    assert [library.path for library in files.libraries] == [f"{folder}/tegra/libcuda.so.1.1"]
    assert files.links == (f"tegra/libcuda.so.1.1::{folder}/libcuda.so",)
    spec = tegra_spec(files, ["tegra"], HOOKS, cuda_version="12.6")
    assert spec is not None
    made = document(spec, "0.5.0")
    assert [device["name"] for device in made["devices"]] == ["tegra"]
    assert [hook["args"][2:] for hook in made["containerEdits"]["hooks"]] == [
        ["create-symlinks", "--link", f"libcuda.so.1::{folder}/tegra/libcuda.so"],
        ["create-symlinks", "--link", f"tegra/libcuda.so.1.1::{folder}/libcuda.so"],
        ["enable-cuda-compat", "--host-cuda-version=12.6"],
        ["update-ldcache", "--folder", f"{folder}/tegra"],
    ]


def test_a_jetson_whose_devices_are_all_missing_has_no_specification() -> None:
    assert tegra_spec(TegraFiles(), ["tegra"], HOOKS, cuda_version=None) is None


def test_without_cuda_there_is_no_compatibility_hook() -> None:
    spec = tegra_spec(TegraFiles(devices=(NULL,)), ["0"], HOOKS, cuda_version=None)
    assert spec is not None
    assert spec.edits.hooks == ()


def test_a_jetson_without_csv_files_is_told_clearly(tmp_path: Path) -> None:
    with pytest.raises(CdiError, match=r"host-files-for-container\.d was found below .*L4T container packages"):
        find_tegra(str(tmp_path), "/")


def test_wsl_takes_the_driver_from_the_windows_host(tmp_path: Path) -> None:
    root = driver_root.wsl(tmp_path)
    store = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_2"
    with pytest.raises(CdiError, match=r"/dev/dxg was not found"):
        find_wsl(str(root), str(root))
    core = [Root(str(root)).file("/usr/lib/wsl/lib/libdxcore.so")]
    files = [Root(str(root)).file(f"{store}/{name}") for name in ("libcuda.so.1.1", "extra.dll", "nvidia-smi")]
    made = document(wsl_spec(NULL, core, files, HOOKS), "0.5.0")
    assert [device["name"] for device in made["devices"]] == ["all"]
    assert [mount["containerPath"] for mount in made["containerEdits"]["mounts"]] == [
        "/usr/lib/wsl/lib/libdxcore.so",
        f"{store}/extra.dll",
        f"{store}/libcuda.so.1.1",
        f"{store}/nvidia-smi",
    ]
    assert [hook["args"][2:] for hook in made["containerEdits"]["hooks"]] == [
        ["create-symlinks", "--link", f"{store}/nvidia-smi::/usr/bin/nvidia-smi"],
        ["update-ldcache", "--folder", store, "--folder", "/usr/lib/wsl/lib"],
    ]
