"""Where Linux distributions and driver containers keep the files of an NVIDIA driver."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_core.devices.device_nodes import CONTROL_NODES

LEGACY_LIBRARIES = ("libnvidia-nvvm70.so.*",)

EXPLICIT_LIBRARIES = (
    "libEGL.so",
    "libGL.so",
    "libGLESv1_CM.so",
    "libGLESv2.so",
    "libGLX.so",
    "libGLdispatch.so",
    "libOpenCL.so",
    "libOpenGL.so",
    "libnvidia-api.so",
    "libnvidia-egl-xcb.so",
    "libnvidia-egl-xlib.so",
)
"""Libraries without a version in their name, mounted on request."""

BINARY_DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

BINARIES = (
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
)

CONFIG_DIRECTORIES = ("/etc", "/usr/local/share", "/usr/share")

CONFIGS = (
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "egl/egl_external_platform.d/09_nvidia_wayland2.json",
    "nvidia/nvoptix.bin",
    "X11/xorg.conf.d/10-nvidia.conf",
    "X11/xorg.conf.d/nvidia-drm-outputclass.conf",
    "OpenCL/vendors/nvidia.icd",
)

VULKAN_CONFIGS = (
    "vulkan/icd.d/nvidia_icd.json",
    "vulkan/icd.d/nvidia_layers.json",
    "vulkan/implicit_layer.d/nvidia_layers.json",
    "vulkan/icd.d/nvidia_icd.{machine}.json",
)

SOCKET_DIRECTORIES = ("/run", "/var/run")

SOCKETS = ("nvidia-persistenced/socket", "nvidia-fabricmanager/socket")

CONTROL_DEVICES = tuple(reversed(CONTROL_NODES))

DEVICE_PATTERNS = (
    *CONTROL_DEVICES,
    "/dev/nvidia[0-9]*",
    "/dev/nvidia-caps/nvidia-cap*",
    "/dev/dri/card*",
    "/dev/dri/renderD*",
    "/dev/gdrdrv",
    "/dev/nvidia-fs*",
    "/dev/infiniband/uverbs*",
    "/dev/infiniband/rdma_cm",
    "/dev/dxg",
)
"""Every device node that a specification of ours may name, other than IMEX channels and Tegra's own."""


def firmware_directories(release: str, class_path: str) -> tuple[str, ...]:
    """Return where the kernel of this release looks for firmware; `class_path` is its own extra path, or empty."""
    standard = (
        f"/lib/firmware/updates/{release}",
        "/lib/firmware/updates",
        f"/lib/firmware/{release}",
        "/lib/firmware",
    )
    return (class_path, *standard) if class_path else standard


def graphics_libraries(version: str) -> tuple[str, ...]:
    """Return patterns of libraries that graphics needs, beside those of the driver's version."""
    return (
        "libnvidia-egl-gbm.so.*.*",
        "libnvidia-egl-wayland.so.*.*",
        "libnvidia-egl-wayland2.so.*.*",
        f"libnvidia-allocator.so.{version}",
        f"libnvidia-vulkan-producer.so.{version}",
    )


def xorg_libraries(version: str) -> tuple[str, ...]:
    """Return the names of the driver's Xorg modules."""
    return ("nvidia_drv.so", f"libglxserver_nvidia.so.{version}")


def xorg_directories(library_directories: Iterable[str]) -> tuple[str, ...]:
    """Return where Xorg modules are kept, near the driver's libraries first."""
    modules = ("modules/drivers", "modules/extensions", "modules/updates/drivers", "modules/updates/extensions")
    near = [
        f"{directory}/{place}"
        for directory in library_directories
        for place in ("nvidia/xorg", *(f"xorg/{module}" for module in modules))
    ]
    usual = [
        f"{directory}/{module}"
        for directory in ("/usr/lib/xorg", "/usr/lib64/xorg", "/usr/X11R6/lib", "/usr/X11R6/lib64")
        for module in modules
    ]
    return tuple(dict.fromkeys([*near, *usual]))
