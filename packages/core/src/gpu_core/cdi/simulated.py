"""The driver files of a simulated node: what a package of that driver version installs on Debian or Ubuntu.

Nothing is looked up, so that a specification can be shown on a machine without a driver.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpu_core.cdi.driver_files import CharDevice, DriverFiles, File, Library
from gpu_core.cdi.search_paths import BINARIES
from gpu_core.devices.model import Inventory

_FOLDER = "/usr/lib/x86_64-linux-gnu"
_SONAMES = {
    "libcuda.so": "libcuda.so.1",
    "libnvidia-ml.so": "libnvidia-ml.so.1",
    "libnvidia-ptxjitcompiler.so": "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-nvvm.so": "libnvidia-nvvm.so.4",
    "libnvidia-opencl.so": "libnvidia-opencl.so.1",
    "libnvidia-cfg.so": "libnvidia-cfg.so.1",
    "libnvidia-encode.so": "libnvidia-encode.so.1",
    "libnvcuvid.so": "libnvcuvid.so.1",
    "libcudadebugger.so": "libcudadebugger.so.1",
}
_GPU_MAJOR = 195
_CAPABILITY_MAJOR = 237
_UVM_MAJOR = 510


def simulated_driver(inventory: Inventory) -> DriverFiles:
    """Return the driver files that a node with this inventory would have."""
    version = inventory.driver_version or "0.0"
    return DriverFiles(
        root="/",
        dev_root="/",
        version=version,
        library_directories=(_FOLDER,),
        libraries=tuple(_library(name, soname, version) for name, soname in sorted(_SONAMES.items())),
        firmware=_files(f"/lib/firmware/nvidia/{version}/{name}" for name in ("gsp_ga10x.bin", "gsp_tu10x.bin")),
        binaries=_files(f"/usr/bin/{name}" for name in BINARIES if not name.startswith("nvidia-imex")),
        devices=tuple(_devices(inventory)),
    )


def _library(name: str, soname: str, version: str) -> Library:
    path = f"{_FOLDER}/{name}.{version}"
    return Library(seen=path, path=path, soname=soname, links=frozenset({soname, name}))


def _files(paths: Iterable[str]) -> tuple[File, ...]:
    return tuple(File(seen=path, path=path) for path in paths)


def _devices(inventory: Inventory) -> Iterable[CharDevice]:
    yield _device("/dev/nvidiactl", _GPU_MAJOR, 255)
    yield _device("/dev/nvidia-modeset", _GPU_MAJOR, 254)
    yield _device("/dev/nvidia-uvm", _UVM_MAJOR, 0)
    yield _device("/dev/nvidia-uvm-tools", _UVM_MAJOR, 1)
    for gpu in inventory.gpus:
        if gpu.minor is not None:
            yield _device(f"/dev/nvidia{gpu.minor}", _GPU_MAJOR, gpu.minor)
        for minors in dict.fromkeys(mig.capability_minors for mig in gpu.mig_devices):
            for minor in minors or ():
                yield _device(f"/dev/nvidia-caps/nvidia-cap{minor}", _CAPABILITY_MAJOR, minor)


def _device(path: str, major: int, minor: int) -> CharDevice:
    return CharDevice(seen=path, path=path, major=major, minor=minor)
