"""Opens the node's GPUs: finds out through which interface they are reached, and says what is missing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.backend import Backend
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.libcuda import LIBRARY as CUDA_LIBRARY
from gpu_core.devices.libcuda import load_cuda
from gpu_core.devices.library_search import FLAG, LOADER, LibrarySearch, candidates, load
from gpu_core.devices.model import Platform
from gpu_core.devices.node_files import MachineFiles
from gpu_core.devices.nvml.library import LIBRARY
from gpu_core.devices.nvml.reader import NvmlBackend
from gpu_core.devices.platform import PlatformFacts, choose_platform, not_found, where_none_was_found
from gpu_core.devices.simulated.backend import open_simulated
from gpu_core.devices.simulated.node import SimulatedNode
from gpu_core.devices.tegra import TegraBackend
from gpu_core.devices.vfio import VfioBackend
from gpu_core.errors import DriverMissingError, NvmlCallError
from gpu_core.runtime.roots import Roots

_DXCORE = "libdxcore.so"


def open_backend(
    *,
    strategy: DeviceDiscoveryStrategy,
    driver_root_ctr: str | None = None,
    library_path: tuple[str, ...] = (),
    roots: Roots | None = None,
    loader: Callable[[str], Any] = ctypes.CDLL,
    simulated: SimulatedNode | None = None,
    simulated_events: Path | None = None,
    threads: DriverThreads | None = None,
) -> Backend:
    """Return an open backend.

    `driver_root_ctr` is the driver root as this process sees it, and `library_path` the directories in it that the user
    names; without a root, the search is left to the `loader`, which opens a library by name or path. `threads` are
    those of this process that are in the driver. Every call looks for the library anew, so that a driver that comes
    later, or is replaced, is found. Raises DriverMissingError where no driver is found, and NvmlCallError where it is
    there and does not start.
    """
    if simulated is not None:
        return open_simulated(simulated, strategy, simulated_events, threads)
    files = MachineFiles(roots or Roots(), driver_root_ctr)
    search = LibrarySearch(root=driver_root_ctr, named=library_path) if driver_root_ctr else None
    if strategy is DeviceDiscoveryStrategy.VFIO:
        return VfioBackend(files.vfio_functions, files.device_name)
    library, failures = load(candidates(LIBRARY, search), loader)
    backend: NvmlBackend | None = None
    refused: NvmlCallError | None = None
    dxcore = load(candidates(_DXCORE, search), loader)[0] is not None
    if library is not None:
        try:
            backend = NvmlBackend(library, files, Platform.WSL if dxcore else Platform.NVML, threads)
        except NvmlCallError as error:
            refused = error
    facts = PlatformFacts(
        dxcore=dxcore,
        tegra=files.tegra_mark() is not None,
        nvml=library is not None,
        gpu_names=None if backend is None else backend.names(),
    )
    platform = choose_platform(strategy, facts)
    if platform is Platform.TEGRA:
        compat = None
        if backend is not None:
            # CUDA describes the chip; only the driver's own version is NVML's to tell, as for the original.
            compat = backend.cuda_compat()
            backend.close()
        return TegraBackend(load_cuda(candidates(CUDA_LIBRARY, search), loader), threads, compat)
    if backend is not None:
        return backend
    if refused is not None:
        raise refused
    searched = (LOADER,) if search is None else (search.searched(), LOADER)
    fact = not_found(LIBRARY, searched=searched, failures=failures)
    raise DriverMissingError(f"{fact} {where_none_was_found(FLAG)}", fact=fact)
