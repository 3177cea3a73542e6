"""What the doctor works on: where to look, what the plugin would run with, and what the driver said. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import PluginSettings
from gpu_core.config.words import DeviceListStrategy, only_cdi, uses_cdi
from gpu_core.devices.model import Inventory
from gpu_core.errors import SuiteError
from gpu_core.runtime.process import Completed
from gpu_core.runtime.roots import Roots


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """What came of asking the driver: the GPUs, or why it could not be asked."""

    inventory: Inventory | None = None
    error: SuiteError | None = None


class Machine(Protocol):
    """What is asked of the system besides its files."""

    def may(self, path: Path, *, write: bool) -> bool:
        """Whether we may read a file, and write it or into it."""

    def answers(self, socket: Path) -> bool:
        """Whether somebody accepts connections on a Unix socket."""

    def run(self, argv: tuple[str, ...], environment: Mapping[str, str], text: str) -> Completed:
        """Run a program that changes nothing. Raises ProcessError."""

    def character_device(self, path: Path) -> bool:
        """Whether a path is a character device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One examination.

    `own` is the root of what our process sees, `host` that of the host's files, None where these are not visible.
    `container` tells that we run in one. `refused` is why the configuration cannot be used; `config` and `settings`
    then hold defaults.
    """

    own: Roots
    host: Roots | None
    machine: Machine
    container: bool
    config: Config
    settings: PluginSettings
    driver: Driver
    config_file: str = ""
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def strategies(self) -> tuple[DeviceListStrategy, ...]:
        """How containers are told of their devices."""
        return self.config.flags.plugin.device_list_strategy

    @property
    def wants_cdi(self) -> bool:
        """Whether containers are told through CDI, perhaps among other ways."""
        return uses_cdi(self.strategies)

    @property
    def only_cdi(self) -> bool:
        """Whether containers are told through CDI alone."""
        return only_cdi(self.strategies)

    @property
    def simulated(self) -> bool:
        """Whether the GPUs are simulated, so that this machine has none to look at."""
        return bool(self.settings.simulated_node)

    @property
    def driver_root(self) -> Path:
        """Where the driver's files are mounted, in a container that has them."""
        return self.own.path(self.config.flags.plugin.container_driver_root)
