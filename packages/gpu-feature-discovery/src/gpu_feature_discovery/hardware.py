"""Where this node's facts come from: its own driver and files, or a simulated node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GfdSettings
from gpu_core.devices.backend import Backend
from gpu_core.devices.choose import open_backend
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.simulated.files import load_node
from gpu_core.labels import NodeFacts
from gpu_feature_discovery.destination import stands_in_for_nfd
from gpu_feature_discovery.facts import machine_type, read_facts
from gpu_feature_discovery.traces import traces

_MACHINE_TYPE_FILE = "flags.gfd.machineTypeFile"

# What happens on this machine does not happen to a simulated node.
_NOWHERE = Path("/nonexistent")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSource:
    """Three ways to ask the node: `open` its driver, read its other `facts`, look for `traces` of a change."""

    open: Callable[[], Backend]
    facts: Callable[[], NodeFacts]
    traces: Callable[[], bytes]


def node_source(
    loaded: Loaded[GfdSettings], threads: DriverThreads, *, timestamp: int, warn: Callable[[str], object]
) -> NodeSource:
    """Return the source that the configuration names. Raises SuiteError for a simulated node that cannot be read.

    `threads` are those of this process that are in the driver. `timestamp` is when the configuration was loaded, in
    seconds since 1970.
    """
    if loaded.settings.simulated_node:
        return _simulated(loaded, threads, timestamp, warn)
    flags = loaded.config.flags
    seek_gpus = stands_in_for_nfd(loaded)
    return NodeSource(
        open=lambda: open_backend(
            strategy=flags.device_discovery_strategy,
            driver_root_ctr=flags.plugin.container_driver_root,
            library_path=flags.driver_library_directories,
            threads=threads,
        ),
        facts=lambda: read_facts(
            flags.gfd.machine_type_file,
            timestamp=timestamp,
            device_tree=not loaded.given(_MACHINE_TYPE_FILE),
            seek_gpus=seek_gpus,
            warn=warn,
        ),
        traces=traces,
    )


def _simulated(
    loaded: Loaded[GfdSettings], threads: DriverThreads, timestamp: int, warn: Callable[[str], object]
) -> NodeSource:
    node = load_node(loaded.settings.simulated_node)
    flags = loaded.config.flags
    files = (Path(loaded.settings.simulated_events),) if loaded.settings.simulated_events else ()

    def facts() -> NodeFacts:
        # A file that was asked for is read even here: it is the machine's own and not the node's.
        machine = node.machine
        if loaded.given(_MACHINE_TYPE_FILE):
            machine = machine_type(flags.gfd.machine_type_file, device_tree=False, warn=warn)
        return NodeFacts(
            timestamp=timestamp,
            machine_type="unknown" if machine is None else machine,
            pci=node.pci_functions(),
            shows_gpu=bool(node.gpus) if stands_in_for_nfd(loaded) else None,
        )

    return NodeSource(
        open=lambda: open_backend(
            strategy=flags.device_discovery_strategy,
            simulated=node,
            simulated_events=files[0] if files else None,
            threads=threads,
        ),
        facts=facts,
        traces=lambda: traces(_NOWHERE, files),
    )
