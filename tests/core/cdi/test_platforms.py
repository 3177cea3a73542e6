"""Tegra and WSL: what their files say becomes a specification."""

from pathlib import Path

import pytest

from fakes import driver_root
from gpu_core.cdi.driver_files import CharDevice, File
from gpu_core.cdi.hooks import Hooks
from gpu_core.cdi.model import document
from gpu_core.cdi.platform_files import find_tegra, find_wsl, unlisted_tegra
from gpu_core.cdi.search import Root
from gpu_core.cdi.tegra import CSV_DIRECTORY, CsvEntry, CsvType, TegraFiles, parse_csv, tegra_spec
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


def test_an_orin_has_a_place_of_its_own_for_a_newer_cuda() -> None:
    spec = tegra_spec(TegraFiles(devices=(NULL,)), ["0"], HOOKS, cuda_version="12.6", orin=True)
    assert spec is not None
    assert [hook.args[2:] for hook in spec.edits.hooks] == [
        ("enable-cuda-compat", "--host-cuda-version=12.6", "--cuda-compat-container-root=/usr/local/cuda/compat_orin")
    ]


def test_a_jetson_without_csv_files_is_served_with_what_every_tegra_system_has() -> None:
    release = File(seen="/etc/nv_tegra_release", path="/etc/nv_tegra_release")
    spec = tegra_spec(TegraFiles(system=(release,)), ["0"], HOOKS, cuda_version="13.0")
    assert spec is not None
    mount = {
        "hostPath": "/etc/nv_tegra_release",
        "containerPath": "/etc/nv_tegra_release",
        "options": ["ro", "nosuid", "nodev", "rbind", "rprivate"],
    }
    hook = {
        "hookName": "createContainer",
        "path": "/usr/bin/nvidia-ctk",
        "args": ["nvidia-ctk", "hook", "enable-cuda-compat", "--host-cuda-version=13.0"],
        "env": ["NVIDIA_CTK_DEBUG=false"],
    }
    assert document(spec, "0.5.0") == {
        "cdiVersion": "0.5.0",
        "kind": "k8s.device-plugin.nvidia.com/gpu",
        "devices": [{"name": "0", "containerEdits": {"mounts": [mount]}}],
        "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"], "mounts": [mount], "hooks": [hook]},
    }


def test_a_jetson_without_csv_files_is_told_clearly(tmp_path: Path) -> None:
    warning = unlisted_tegra(str(tmp_path))
    assert warning is not None
    assert warning.startswith(f"No {CSV_DIRECTORY} was found below {tmp_path} or /, so CDI gives containers neither")
    assert "L4T container packages" in warning
    assert unlisted_tegra(str(driver_root.tegra(tmp_path))) is None
    assert find_tegra(str(tmp_path / "missing"), "/").devices == ()


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
