"""The driver's management library: where it is, whether it loads, and whether it fits the kernel's driver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join

from device_plugin.doctor.finding import DRIVERLESS, Finding, Trouble, ok, problem, skipped, warning
from device_plugin.doctor.pci_bus import KERNEL_DRIVER, gpus_on_bus, on_pci
from device_plugin.doctor.scene import Scene
from gpu_core.counted import counted
from gpu_core.devices.file_root import FileRoot
from gpu_core.devices.library_search import FLAG, LOADER, LibrarySearch
from gpu_core.devices.model import Platform
from gpu_core.devices.nvml.library import LIBRARY
from gpu_core.devices.platform import WRONG_LIBRARY
from gpu_core.errors import DriverMissingError, NvmlCallError
from gpu_core.files import read_beginning

EXAMINATION = "driver library"
VERSIONS = "driver versions"
ANSWER = "driver"

_LONGEST_VERSION = 4096
_KERNEL_VERSION = re.compile(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s")
_FILE_VERSION = re.compile(r"\.so\.(\d+\.\d+(?:\.\d+)?)$")

_CODES = {
    "DRIVER_NOT_LOADED": (
        "The kernel has no NVIDIA driver at work.",
        "Run `modprobe nvidia` on the node; after a kernel update, build the driver anew. `dmesg` tells more.",
    ),
    "LIB_RM_VERSION_MISMATCH": (
        "The library and the kernel's driver are of different versions, as after an update without a restart.",
        "Restart the node, or unload the driver's modules with `rmmod` and load them again with `modprobe nvidia`.",
    ),
    "NOT_SUPPORTED": ("The library does not work on this machine, so that no GPU can be seen.", WRONG_LIBRARY),
    "NO_PERMISSION": (
        "This process may not use the driver's device nodes.",
        "Run privileged or with the NVIDIA runtime, and check the device cgroup of the container.",
    ),
    "TIMEOUT": (
        "A call into the driver does not return; programs that use GPUs hang too.",
        "Look into `dmesg` for XIDs; most often only a restart of the node helps.",
    ),
}


_ANY = (*DRIVERLESS, Trouble.VERSIONS_DIFFER, Trouble.NODES_MISSING)
_BEHIND: Mapping[str, tuple[Trouble, ...]] = {
    "LIB_RM_VERSION_MISMATCH": (Trouble.VERSIONS_DIFFER,),
    "NO_PERMISSION": (Trouble.NOT_ROOT, Trouble.NODES_CLOSED),
    "TIMEOUT": (),
}
"""What may be behind a driver's answer; behind others than these it is any of several things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LibraryFile:
    """A library or a link of its name: where it is, and the file that it is, None where the link leads nowhere."""

    path: Path
    real: Path | None


def library(scene: Scene) -> Iterator[Finding]:
    """Look for the library, and say whether the driver answers through it."""
    if scene.simulated:
        yield skipped(EXAMINATION, f"The GPUs are simulated ({scene.settings.simulated_node}); no driver is needed.")
        return
    present = tuple(_library_files(scene))
    for file in present:
        if file.real is None:
            yield problem(
                EXAMINATION,
                f"{file.path} is a link to {file.path.readlink()}, which is not there.",
                "The driver was removed or updated in part, or only a part of it is mounted.",
                "Install the driver again on the node, and mount the whole driver root.",
                trouble=Trouble.BROKEN_LIBRARY,
            )
    error = scene.driver.error
    if isinstance(error, DriverMissingError):
        yield problem(
            EXAMINATION,
            error.fact,
            "No GPU of this node can be seen from here.",
            _no_driver_for(scene)
            or "On the host: install the driver. In a container: use the NVIDIA runtime (runtimeClassName: nvidia), or "
            "mount the driver's root at --driver-root-ctr-path; directories in it that are not searched are named with "
            f"{FLAG}.",
            trouble=Trouble.NO_LIBRARY,
            follows=(Trouble.NO_GPU, Trouble.HELD_ELSEWHERE, Trouble.BROKEN_LIBRARY, *_runtime(scene)),
        )
        return
    found = [str(file.path) for file in present if file.real is not None]
    searched = f"Searched: {_search(scene).searched()}; then {LOADER}. {FLAG} names other directories."
    yield ok(EXAMINATION, f"{LIBRARY} was found: {', '.join(found) if found else 'by the loader'}.", searched)


def answer(scene: Scene) -> Iterator[Finding]:
    """Say whether the driver starts, and what it says of the GPUs."""
    error, inventory = scene.driver.error, scene.driver.inventory
    if isinstance(error, DriverMissingError):
        return
    if error is not None:
        code = error.code if isinstance(error, NvmlCallError) else ""
        default = ("The driver does not work.", "Run `nvidia-smi` on the node to see what it says there.")
        meaning, step = _CODES.get(code, default)
        yield problem(ANSWER, str(error), meaning, step, trouble=Trouble.NO_ANSWER, follows=_BEHIND.get(code, _ANY))
        return
    if inventory is None:
        return
    for gone in inventory.unreadable:
        yield problem(
            ANSWER,
            f"GPU {gone.index} cannot be read: {gone.fault}.",
            "This GPU is not served; the others are.",
            "Reset it with `nvidia-smi -r -i <index>` or restart the node; look into `dmesg` for its XID.",
            trouble=Trouble.LOST_GPU,
        )
    for gpu in inventory.gpus:
        if gpu.faults:
            yield problem(
                ANSWER,
                f"GPU {gpu.index} ({gpu.uuid}) can be read only in part: {gpu.faults[0]}.",
                "It is reported as unhealthy; no container gets it.",
                "Reset it with `nvidia-smi -r -i <index>` or restart the node; look into `dmesg` for its XID.",
            )
    usable = [gpu for gpu in inventory.gpus if gpu.usable]
    if usable:
        names = sorted({gpu.name or "unknown product" for gpu in usable})
        version = inventory.driver_version or "of unknown version"
        gpus = counted(len(usable), "GPU")
        yield ok(ANSWER, f"The driver {version} answers: {gpus} that can be used ({', '.join(names)}).")
    elif not inventory.gpus and not inventory.unreadable:
        yield problem(
            ANSWER,
            "The driver answers, and it has no GPU.",
            "There is nothing to serve on this node.",
            "Check with `lspci -d 10de:` that the kernel sees the GPUs and which driver holds them; GPUs held by "
            "vfio-pci are for virtual machines.",
            follows=DRIVERLESS,
        )


def versions(scene: Scene) -> Iterator[Finding]:
    """Compare the versions of the library and of the kernel's driver."""
    inventory = scene.driver.inventory
    if not on_pci(scene) or (inventory is not None and inventory.platform is not Platform.NVML):
        return
    file = scene.own.path(KERNEL_DRIVER)
    try:
        text = read_beginning(file, most=_LONGEST_VERSION).decode("utf-8", "replace")
    except OSError:
        yield problem(
            VERSIONS,
            f"{KERNEL_DRIVER} is not there.",
            "The kernel's NVIDIA driver is not loaded.",
            _no_driver_for(scene) or "Run `modprobe nvidia` on the node, and look into `dmesg` if that fails.",
            trouble=Trouble.NO_KERNEL_DRIVER,
            follows=DRIVERLESS,
        )
        return
    match = _KERNEL_VERSION.search(text)
    kernel = match[1] if match else "unknown"
    files = {_version(file) for file in _library_files(scene)} - {None}
    if kernel != "unknown" and files and kernel not in files:
        yield problem(
            VERSIONS,
            f"The kernel's driver is {kernel}, the library is {', '.join(sorted(filter(None, files)))}.",
            *_CODES["LIB_RM_VERSION_MISMATCH"],
            trouble=Trouble.VERSIONS_DIFFER,
        )
    elif len(files) > 1:
        yield warning(
            VERSIONS,
            f"There are libraries of several versions: {', '.join(sorted(filter(None, files)))}.",
            "Which one a program gets depends on where it looks; a container may get the wrong one.",
            "Remove the driver packages that are not in use.",
        )
    else:
        yield ok(VERSIONS, f"The kernel's driver is {kernel}; the library {'fits' if files else 'has no version'}.")


def _no_driver_for(scene: Scene) -> str:
    """Say that a driver is no help where there is no GPU for it; empty where there may be one."""
    return (
        "A driver helps only where there is a GPU; see what is said about the PCI bus."
        if gpus_on_bus(scene) == ()
        else ""
    )


def _runtime(scene: Scene) -> tuple[Trouble, ...]:
    """Return that the runtime may be behind it, where the driver is at work and only our container lacks it."""
    return (Trouble.NO_RUNTIME,) if scene.container and scene.own.path(KERNEL_DRIVER).exists() else ()


def _library_files(scene: Scene) -> Iterator[_LibraryFile]:
    """Give the libraries and links of that name in the driver root, and in our own, where our loader finds them."""
    own = scene.environ.get("LD_LIBRARY_PATH", "").split(":")
    searches = (_search(scene), LibrarySearch(root=str(scene.own.root), named=tuple(filter(None, own))))
    seen = set()
    for search in searches:
        root = FileRoot(search.root)
        for entry in search.entries(LIBRARY):
            # /lib may be a link to /usr/lib.
            path = Path(root.seen(join(root.resolve(dirname(entry)) or dirname(entry), LIBRARY)))
            if path in seen or not (path.is_symlink() or path.exists()):
                continue
            seen.add(path)
            real = root.resolve(entry)
            yield _LibraryFile(path=path, real=None if real is None else Path(root.seen(real)))


def _search(scene: Scene) -> LibrarySearch:
    return LibrarySearch(root=str(scene.driver_root), named=scene.config.flags.driver_library_directories)


def _version(file: _LibraryFile) -> str | None:
    match = None if file.real is None else _FILE_VERSION.search(file.real.name)
    return match[1] if match else None
