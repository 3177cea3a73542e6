"""Builds driver roots on disk: names and links as an installed driver has them, with small libraries inside."""

from collections.abc import Iterable
from pathlib import Path

from fakes.elf import library

SONAMES = {
    "libcuda.so": "libcuda.so.1",
    "libnvidia-ml.so": "libnvidia-ml.so.1",
    "libGLX_nvidia.so": "libGLX_nvidia.so.0",
    "libnvidia-opticalflow.so": "libnvidia-opticalflow.so.1",
}
BINARIES = ("nvidia-smi", "nvidia-cuda-mps-control", "nvidia-persistenced")


def put(root: Path, path: str, content: bytes = b"stub\n", mode: int = 0o644) -> Path:
    """Write one file below the root."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
    return file


def link(root: Path, path: str, target: str) -> None:
    """Make one link below the root."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(target)


def install(root: Path, *, version: str, libraries: str, libraries_like: Iterable[str] = SONAMES) -> Path:
    """Install a driver of this version, with its libraries in the directory `libraries`."""
    for name in libraries_like:
        soname = SONAMES[name]
        put(root, f"{libraries}/{name}.{version}", library(soname))
        link(root, f"{libraries}/{soname}", f"{name}.{version}")
        link(root, f"{libraries}/{name}", soname)
    put(root, f"{libraries}/vdpau/libvdpau_nvidia.so.{version}", library("libvdpau_nvidia.so.1"))
    for name in BINARIES:
        put(root, f"usr/bin/{name}", b"#!/bin/sh\n", 0o755)
    put(root, f"lib/firmware/nvidia/{version}/gsp_ga10x.bin")
    return root


def debian(root: Path, version: str = "550.90.07") -> Path:
    """Build Debian or Ubuntu, x86_64."""
    return install(root, version=version, libraries="usr/lib/x86_64-linux-gnu")


def debian_aarch64(root: Path, version: str = "550.90.07") -> Path:
    """Build Debian or Ubuntu on 64-bit Arm."""
    return install(root, version=version, libraries="usr/lib/aarch64-linux-gnu")


def rhel(root: Path, version: str = "550.90.07") -> Path:
    """Build Red Hat or SUSE, with /lib64 linked to /usr/lib64."""
    install(root, version=version, libraries="usr/lib64")
    link(root, "lib64", "usr/lib64")
    return root


def driver_container(root: Path, version: str = "550.90.07") -> Path:
    """Build a driver container: a whole merged-usr system with device nodes of its own and absolute links."""
    install(root, version=version, libraries="usr/lib/x86_64-linux-gnu")
    link(root, "lib64", "/usr/lib64")
    (root / "dev").mkdir()
    put(root, "run/nvidia-persistenced/socket")
    put(root, "usr/share/vulkan/icd.d/nvidia_icd.json", b"{}\n")
    put(root, "usr/share/glvnd/egl_vendor.d/10_nvidia.json", b"{}\n")
    return root


def tegra(root: Path) -> Path:
    """Build a Jetson, described by L4T's CSV files."""
    folder = "etc/nvidia-container-runtime/host-files-for-container.d"
    put(root, f"{folder}/devices.csv", b"dev, /dev/null\ndev, /dev/nvhost-missing\n\nbroken line\n")
    lines = (
        "lib, /usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1\n"
        "sym, /usr/lib/aarch64-linux-gnu/libcuda.so\n"
        "dir, /usr/src/nvidia\nlib, /usr/lib/missing.so.1\nodd, /x\n"
    )
    put(root, f"{folder}/drivers.csv", lines.encode())
    put(root, "usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1", library("libcuda.so.1.1"))
    link(root, "usr/lib/aarch64-linux-gnu/libcuda.so", "tegra/libcuda.so.1.1")
    (root / "usr/src/nvidia").mkdir(parents=True)
    return root


def wsl(root: Path) -> Path:
    """Build the Windows Subsystem for Linux: a driver store with two vendors, and dxcore."""
    store = "usr/lib/wsl/drivers"
    put(root, f"{store}/iigd_dch.inf_amd64_1/libigd.so")
    nvidia = f"{store}/nv_dispi.inf_amd64_2"
    for name in ("libcuda.so.1.1", "libnvidia-ml.so.1", "nvcubins.bin", "extra.dll", "libnvwgf2umx.so"):
        put(root, f"{nvidia}/{name}")
    put(root, f"{nvidia}/nvidia-smi", b"#!/bin/sh\n", 0o755)
    put(root, "usr/lib/wsl/lib/libdxcore.so")
    return root
