"""Where this node's GPUs and device nodes are: the machine's own, or a simulated node's."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gpu_core.config.model import Config
from gpu_core.devices.backend import Backend
from gpu_core.devices.choose import open_backend
from gpu_core.devices.device_nodes import CONTROL_NODES, IMEX_CHANNEL_NODE, Exists
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.simulated.files import load_node
from gpu_core.devices.simulated.node import SimulatedNode


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSource:
    """Opens the node's driver as a config asks, and tells which device nodes there are.

    `bound` tells which PCI functions the kernel's driver holds: when these change, NVML has to be opened anew, since it
    counts the GPUs that were there when it was opened. `node` is the simulated node, on which the file `events` makes
    things happen; None for the machine's own. `threads` are those of this process that are in the driver.
    """

    open: Callable[[Config], Backend]
    exists: Exists
    bound: Callable[[], frozenset[str]] = frozenset
    node: SimulatedNode | None = None
    events: Path | None = None
    threads: DriverThreads = field(default_factory=DriverThreads)


def node_source(simulated: str = "", events: str = "", *, threads: DriverThreads | None = None) -> NodeSource:
    """Return the machine's own driver, or the `simulated` node of that name or file, with its file of `events`.

    Raises SuiteError for a simulated node that cannot be read.
    """
    threads = threads or DriverThreads()
    if simulated:
        return simulated_source(load_node(simulated), Path(events) if events else None, threads)
    return NodeSource(
        open=partial(_open_machine, threads), exists=is_character_device, bound=bound_functions, threads=threads
    )


def simulated_source(
    node: SimulatedNode, events: Path | None = None, threads: DriverThreads | None = None
) -> NodeSource:
    """Return a simulated node, on which `events`, a file, makes things happen."""
    threads = threads or DriverThreads()
    nodes = {*CONTROL_NODES, *(IMEX_CHANNEL_NODE.format(channel) for channel in node.imex_channels)}
    return NodeSource(
        open=lambda config: open_backend(
            strategy=config.flags.device_discovery_strategy,
            simulated=node,
            simulated_events=events,
            threads=threads,
        ),
        exists=nodes.__contains__,
        node=node,
        events=events,
        threads=threads,
    )


def _open_machine(threads: DriverThreads, config: Config) -> Backend:
    return open_backend(
        strategy=config.flags.device_discovery_strategy,
        driver_root_ctr=config.flags.plugin.container_driver_root,
        library_path=config.flags.driver_library_directories,
        threads=threads,
    )


def is_character_device(path: str) -> bool:
    """Look whether a path is a character device."""
    try:
        return stat.S_ISCHR(Path(path).stat().st_mode)
    except OSError:
        return False


def bound_functions(directory: Path = Path("/sys/bus/pci/drivers/nvidia")) -> frozenset[str]:
    """Return the addresses of the PCI functions that the kernel's NVIDIA driver holds; none where there is none."""
    try:
        return frozenset(entry.name for entry in directory.iterdir() if ":" in entry.name)
    except OSError:
        return frozenset()
