"""CDI for the Windows Subsystem for Linux, where one node stands for all GPUs and Windows keeps the driver."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import basename

from gpu_core.cdi import edits
from gpu_core.cdi.driver_files import CharDevice, File
from gpu_core.cdi.hooks import Hooks
from gpu_core.cdi.model import VOID, ContainerEdits, Spec, SpecDevice
from gpu_core.cdi.names import CdiClass, kind

DEVICE = "/dev/dxg"
CORE_LIBRARY = "/usr/lib/wsl/lib/libdxcore.so"
DRIVER_STORE = "/usr/lib/wsl/drivers"
STORE_MARK = "libcuda.so.1.1"
"""The file by which NVIDIA's folder in the driver store is told from those of other vendors."""

STORE_FILES = (
    "libcuda.so.1.1",
    "libcuda_loader.so",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-ml.so.1",
    "libnvidia-ml_loader.so",
    "libnvdxgdmal.so.1",
    "nvcubins.bin",
    "nvidia-smi",
)
"""What CUDA needs first; everything else in the store that is a library, a binary blob or a DLL follows."""

STORE_PATTERNS = ("*.so*", "*.bin", "*.dll")


def wsl_spec(
    device: CharDevice, core: Iterable[File], store: Iterable[File], hooks: Hooks, *, group_access: bool = True
) -> Spec:
    """Return the specification whose one device, `all`, is every GPU of the Windows host.

    `core` is dxcore's library, `store` the files of NVIDIA's folder in the driver store.
    """
    core, store = tuple(core), tuple(store)
    needed = [file for file in store if basename(file.path) in STORE_FILES]
    tools = [f"{file.path}::/usr/bin/nvidia-smi" for file in needed if basename(file.path) == "nvidia-smi"]
    common = edits.mounts([*core, *store]) + ContainerEdits(
        env=(VOID,), hooks=(*hooks.symlinks(tools), *hooks.ldcache(edits.library_folders([*needed, *core])))
    )
    node = edits.device_nodes([device], group_access=group_access)
    return edits.tidy(Spec(kind=kind(CdiClass.GPU), devices=(SpecDevice(name="all", edits=node),), edits=common))
