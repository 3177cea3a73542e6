"""`gfd topology`: reads the node and draws it."""

from __future__ import annotations

from gpu_core.command import Invocation, tell


def show_topology(invocation: Invocation) -> int:
    """Print the picture of the node and return 0. Raises HardwareError where there is no driver to ask."""
    from gpu_core.devices.driver_threads import DriverThreads  # noqa: PLC0415
    from gpu_core.devices.filter import apply  # noqa: PLC0415  only this subcommand needs them
    from gpu_feature_discovery.hardware import node_source  # noqa: PLC0415
    from gpu_feature_discovery.topology import draw  # noqa: PLC0415

    loaded = invocation.load()
    backend = node_source(loaded, DriverThreads(), timestamp=0, warn=lambda _: None).open()
    try:
        inventory = backend.read(links=True)
    finally:
        backend.close()
    tell(draw(apply(inventory, loaded.config.devices)))
    return 0
