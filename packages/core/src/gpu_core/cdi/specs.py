"""Makes every specification of a node: looks at what is installed, then builds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import assert_never

from gpu_core.cdi.driver import DriverSearch, find_driver, find_extras
from gpu_core.cdi.hooks import HookName, Hooks
from gpu_core.cdi.host_paths import HostPaths
from gpu_core.cdi.model import Spec
from gpu_core.cdi.names import CdiClass
from gpu_core.cdi.platform_files import find_tegra, find_wsl, unlisted_tegra
from gpu_core.cdi.simulated import simulated_driver
from gpu_core.cdi.spec import (
    EXPLICIT_LIBRARIES,
    NO_SOCKETS,
    SpecOptions,
    extra_spec,
    gpu_spec,
    imex_spec,
)
from gpu_core.cdi.tegra import tegra_spec
from gpu_core.cdi.wsl import wsl_spec
from gpu_core.config.model import Config
from gpu_core.config.words import DeviceIDStrategy, MigStrategy
from gpu_core.devices.device_nodes import ImexChannel
from gpu_core.devices.model import Inventory, Platform
from gpu_core.errors import CdiError

_CHMOD_FEATURE = "enable-chmod-hook"
_TEGRA_NAMES = {DeviceIDStrategy.UUID: "tegra", DeviceIDStrategy.INDEX: "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CdiRequest:
    """What the specifications are made for, beside the config.

    `driver_root` is the driver root as our process sees it. `simulated` nodes are built without looking at any
    file. `channels` are the IMEX channels that exist.
    """

    config: Config
    driver_root: str
    disabled_hooks: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    channels: tuple[ImexChannel, ...] = ()
    simulated: bool = False

    @property
    def options(self) -> SpecOptions:
        """The options of the pure builders."""
        chmod = {HookName.CHMOD.value} if _CHMOD_FEATURE in self.features else set()
        plugin = self.config.flags.plugin
        return SpecOptions(
            hooks=Hooks(tool=plugin.nvidia_ctk_path, disabled=self.disabled_hooks, enabled=frozenset(chmod)),
            id_strategy=plugin.device_id_strategy,
            features=self.features,
            extra_names=plugin.cdi_extra_names,
            mig_parents=self.config.flags.mig_strategy is MigStrategy.NONE,
        )

    @property
    def dev_root(self) -> str:
        """The dev root as our process sees it: the driver root where that has a /dev, else `/`."""
        return self.driver_root if os.path.isdir(os.path.join(self.driver_root, "dev")) else "/"  # noqa: PTH112, PTH118

    @property
    def roots(self) -> HostPaths:
        """How paths become the host's."""
        flags = self.config.flags
        if self.simulated:
            return HostPaths(
                seen_driver="/", host_driver=flags.nvidia_driver_root, seen_dev="/", host_dev=flags.dev_root
            )
        return HostPaths(
            seen_driver=self.driver_root,
            host_driver=flags.nvidia_driver_root,
            seen_dev=self.dev_root,
            host_dev=flags.dev_root,
        )


def node_specs(inventory: Inventory, request: CdiRequest) -> dict[CdiClass, Spec | None]:
    """Return the specification of each class that the config asks for, None where the node has no such device.

    Every path is the host's. Raises CdiError when the driver's files cannot be found.
    """
    flags = request.config.flags
    specs: dict[CdiClass, Spec | None] = {CdiClass.GPU: _gpu_spec(inventory, request)}
    if request.config.imex.channel_ids:
        specs[CdiClass.IMEX_CHANNEL] = imex_spec(request.channels)
    wanted = {
        CdiClass.GDRCOPY: flags.gdrcopy_enabled,
        CdiClass.GDS: flags.gds_enabled,
        CdiClass.MOFED: flags.mofed_enabled,
    }
    extras = [cdi_class for cdi_class, asked in wanted.items() if asked]
    if extras:
        files = simulated_driver(inventory) if request.simulated else find_extras(request.driver_root, request.dev_root)
        specs |= {cdi_class: extra_spec(cdi_class, files, request.options) for cdi_class in extras}
    roots = request.roots
    return {cdi_class: None if spec is None else roots.on_host(spec) for cdi_class, spec in specs.items()}


def spec_warnings(inventory: Inventory, request: CdiRequest) -> tuple[str, ...]:
    """Return what is missing on the node and leaves its specifications poorer."""
    if request.simulated or inventory.platform is not Platform.TEGRA:
        return ()
    warning = unlisted_tegra(request.driver_root)
    return () if warning is None else (warning,)


def _gpu_spec(inventory: Inventory, request: CdiRequest) -> Spec | None:
    options = request.options
    if request.simulated:
        return gpu_spec(inventory, simulated_driver(inventory), options)
    match inventory.platform:
        case Platform.TEGRA:
            found = find_tegra(request.driver_root, request.dev_root)
            compat = inventory.cuda_compat
            version = inventory.cuda_version if compat is None else compat.version
            return tegra_spec(
                found,
                (_TEGRA_NAMES[options.id_strategy],),
                options.hooks,
                cuda_version=".".join(map(str, version)) if version else None,
                orin=compat is not None and compat.orin,
                group_access=options.group_access,
            )
        case Platform.WSL:
            device, core, store = find_wsl(request.driver_root, request.dev_root)
            return wsl_spec(device, core, store, options.hooks, group_access=options.group_access)
        case Platform.NVML | Platform.VFIO:
            return _driver_spec(inventory, request)
        case _:
            assert_never(inventory.platform)


def _driver_spec(inventory: Inventory, request: CdiRequest) -> Spec | None:
    nodes = [f"/dev/nvidia{gpu.minor}" for gpu in inventory.gpus if gpu.minor is not None]
    if not nodes:
        # A node whose GPUs are all gone needs no driver files.
        return None
    files = find_driver(_search(inventory, request))
    if all(files.device(node) is None for node in nodes):
        raise CdiError(
            f"None of {', '.join(nodes)} was found below {request.dev_root}, so no container could use a GPU. Load the "
            "driver's modules, let nvidia-modprobe or nvidia-persistenced make the nodes, or set --dev-root."
        )
    return gpu_spec(inventory, files, request.options)


def _search(inventory: Inventory, request: CdiRequest) -> DriverSearch:
    uname = os.uname()
    return DriverSearch(
        root=request.driver_root,
        dev_root=request.dev_root,
        version=inventory.driver_version,
        machine=uname.machine,
        release=uname.release,
        library_path=request.config.flags.driver_library_directories,
        explicit_libraries=EXPLICIT_LIBRARIES in request.features,
        sockets=NO_SOCKETS not in request.features,
    )
