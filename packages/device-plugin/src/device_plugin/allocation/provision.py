"""What containers are given besides devices: shared device nodes, IMEX channels, CDI specifications."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from device_plugin.allocation.allocate import Rules, rules_for
from gpu_core.cdi.model import Spec
from gpu_core.cdi.names import CdiClass
from gpu_core.cdi.specs import CdiRequest, node_specs, spec_warnings
from gpu_core.cdi.write import write_specs
from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import PluginSettings
from gpu_core.config.words import uses_cdi
from gpu_core.devices.device_nodes import ImexChannel, control_nodes, imex_channels
from gpu_core.devices.filter import apply as without_unmanaged
from gpu_core.devices.model import Inventory
from gpu_core.errors import CdiError
from gpu_core.hardware.source import NodeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisions:
    """The rules by which containers are given devices, and warnings."""

    rules: Rules
    warnings: tuple[str, ...]


def provide(
    inventory: Inventory, config: Config, settings: PluginSettings, source: NodeSource, cdi_directory: Path
) -> Provisions:
    """Look what there is, write the CDI specifications if they are asked for, and return the rules.

    Raises ResourceError for a missing IMEX channel that is required, and CdiError for specifications that cannot be
    made when containers hear of their devices in no other way; otherwise the other ways go on, with a warning.
    """
    channels, warnings = imex_channels(config.imex, seen_dev_root(config), source.exists)
    written: tuple[CdiClass, ...] = ()
    if uses_cdi(config.flags.plugin.device_list_strategy):
        try:
            request = _request(config, settings, channels, simulated=source.node is not None)
            specs = node_specs(inventory, request)
            warnings = (*warnings, *spec_warnings(inventory, request))
            written = write_specs(specs, cdi_directory)
        except CdiError as error:
            config = without_cdi(config, error)
            warnings = (*warnings, f"{error} Containers are told of their devices without CDI until that works.")
    rules = rules_for(
        config,
        control_nodes=control_nodes(inventory.platform, source.exists),
        imex_channels=(channel.number for channel in channels),
        cdi_classes=written,
    )
    return Provisions(rules=rules, warnings=warnings)


def node_specifications(config: Config, settings: PluginSettings, source: NodeSource) -> dict[CdiClass, Spec | None]:
    """Read the node's GPUs and return its CDI specifications, without writing any. Raises SuiteError."""
    backend = source.open(config)
    try:
        inventory = without_unmanaged(backend.read(), config.devices)
    finally:
        backend.close()
    channels, _ = imex_channels(config.imex, seen_dev_root(config), source.exists)
    return node_specs(inventory, _request(config, settings, channels, simulated=source.node is not None))


def without_cdi(config: Config, error: CdiError) -> Config:
    """Return the config with its other strategies alone; raise `error` when it has none."""
    plugin = config.flags.plugin
    others = tuple(strategy for strategy in plugin.device_list_strategy if not strategy.is_cdi)
    if not others:
        raise error
    return replace(config, flags=replace(config.flags, plugin=replace(plugin, device_list_strategy=others)))


def seen_dev_root(config: Config) -> str:
    """Return the dev root as our process sees it: the driver root where that has a /dev, else `/`."""
    root = config.flags.plugin.container_driver_root
    return root if os.path.isdir(os.path.join(root, "dev")) else "/"  # noqa: PTH112, PTH118


def _request(
    config: Config, settings: PluginSettings, channels: tuple[ImexChannel, ...], *, simulated: bool
) -> CdiRequest:
    return CdiRequest(
        config=config,
        driver_root=config.flags.plugin.container_driver_root,
        disabled_hooks=frozenset(settings.cdi_disable_hooks),
        features=frozenset(settings.cdi_feature_flags),
        channels=channels,
        simulated=simulated,
    )
