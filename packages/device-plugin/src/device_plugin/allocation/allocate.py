"""What a container needs to use the devices that the kubelet chose for it: Allocate, answered.

Every strategy contributes on its own, and `CONTRIBUTIONS` says in which order they are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import join, normpath

from gpu_core.cdi.names import CdiClass, qualified_name
from gpu_core.config.model import Config
from gpu_core.config.words import DeviceIDStrategy, DeviceListStrategy, SharingStrategy, only_cdi
from gpu_core.devices.device_nodes import IMEX_CHANNEL_NODE
from gpu_core.errors import AllocationError
from gpu_core.mps import CONTAINER_ROOT, MpsRoot
from gpu_core.resources.model import Device, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseMount:
    """A writable bind mount."""

    container_path: str
    host_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpec:
    """A device node that may be read and written."""

    container_path: str
    host_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerResponse:
    """What one container is given, as the kubelet is answered. `cdi_devices` are qualified names."""

    envs: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[ResponseMount, ...] = ()
    devices: tuple[DeviceSpec, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    cdi_devices: tuple[str, ...] = ()

    def __add__(self, other: ContainerResponse) -> ContainerResponse:
        """Return both; of one variable or annotation the later value counts, and nothing is listed twice."""
        return ContainerResponse(
            envs={**self.envs, **other.envs},
            mounts=tuple(dict.fromkeys(self.mounts + other.mounts)),
            devices=tuple(dict.fromkeys(self.devices + other.devices)),
            annotations={**self.annotations, **other.annotations},
            cdi_devices=tuple(dict.fromkeys(self.cdi_devices + other.cdi_devices)),
        )


_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
_IMEX_CHANNELS = "NVIDIA_IMEX_CHANNELS"
_VOLUME_ROOT = "/var/run/nvidia-container-devices"
_NULL = "/dev/null"
_SHM = "/dev/shm"  # noqa: S108  The path that MPS clients use.


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How containers are given devices, whichever these are.

    `control_nodes` and `imex_channels` are those that exist. `extras` are asked for by the config, `cdi_extras` those
    of them that have a CDI specification.
    """

    strategies: tuple[DeviceListStrategy, ...] = (DeviceListStrategy.ENVVAR,)
    id_strategy: DeviceIDStrategy = DeviceIDStrategy.UUID
    pass_device_specs: bool = False
    dev_root: str = "/"
    annotation_prefix: str = "cdi.k8s.io/"
    mps_root: str = ""
    control_nodes: tuple[str, ...] = ()
    imex_channels: tuple[int, ...] = ()
    extras: tuple[CdiClass, ...] = ()
    cdi_extras: tuple[CdiClass, ...] = ()


def rules_for(
    config: Config, *, control_nodes: Iterable[str], imex_channels: Iterable[int], cdi_classes: Iterable[CdiClass]
) -> Rules:
    """Return the rules of a config on a node that has these nodes, channels and CDI specifications."""
    flags = config.flags
    wanted = {
        CdiClass.GDRCOPY: flags.gdrcopy_enabled,
        CdiClass.GDS: flags.gds_enabled,
        CdiClass.MOFED: flags.mofed_enabled,
    }
    extras = tuple(cdi_class for cdi_class, asked in wanted.items() if asked)
    present = frozenset(cdi_classes)
    return Rules(
        strategies=flags.plugin.device_list_strategy,
        id_strategy=flags.plugin.device_id_strategy,
        pass_device_specs=flags.plugin.pass_device_specs,
        dev_root=flags.dev_root,
        annotation_prefix=flags.plugin.cdi_annotation_prefix,
        mps_root=flags.mps_root,
        control_nodes=tuple(control_nodes),
        imex_channels=tuple(imex_channels),
        extras=extras,
        cdi_extras=tuple(cdi_class for cdi_class in extras if cdi_class in present),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One container's request after it was found valid. `names` are its devices as containers know them."""

    resource: Resource
    devices: tuple[Device, ...]
    names: tuple[str, ...]
    rules: Rules
    unique_id: str


def allocate(resource: Resource, ids: Sequence[str], rules: Rules, unique_id: str) -> ContainerResponse:
    """Return what one container gets for these device ids, in the order in which they were asked for.

    `unique_id` tells the container's CDI annotation from others. Raises AllocationError, naming resource and id.
    """
    devices = _validated(resource, ids)
    names = (device.uuid if rules.id_strategy is DeviceIDStrategy.UUID else device.index for device in devices)
    grant = Grant(
        resource=resource, devices=devices, names=tuple(dict.fromkeys(names)), rules=rules, unique_id=unique_id
    )
    return sum((contribute(grant) for contribute in CONTRIBUTIONS), ContainerResponse())


def _validated(resource: Resource, ids: Sequence[str]) -> tuple[Device, ...]:
    known = {device.id: device for device in resource.devices}
    unknown = [id_ for id_ in ids if id_ not in known]
    if unknown:
        raise AllocationError(
            f"{resource.name} has no device {', '.join(map(repr, unknown))}. Ask only for devices that it listed."
        )
    devices = tuple(known[id_] for id_ in ids)
    shares = any(device.replica is not None for device in devices)
    if resource.fail_requests_greater_than_one and shares and len(ids) > 1:
        raise AllocationError(
            f"{resource.name} is shared, and failRequestsGreaterThanOne allows a container one share, not {len(ids)} "
            f"({', '.join(ids)}). More shares would not be more of a GPU."
        )
    return devices


def _cdi(grant: Grant) -> ContainerResponse:
    rules = grant.rules
    names = (
        *(qualified_name(CdiClass.GPU, name) for name in grant.names),
        *(qualified_name(CdiClass.IMEX_CHANNEL, str(channel)) for channel in rules.imex_channels),
        *(qualified_name(cdi_class, "all") for cdi_class in rules.cdi_extras),
    )
    annotated = names and DeviceListStrategy.CDI_ANNOTATIONS in rules.strategies
    key = f"{rules.annotation_prefix}nvidia-device-plugin_{grant.unique_id}"
    return ContainerResponse(
        annotations={key: ",".join(names)} if annotated else {},
        cdi_devices=names if DeviceListStrategy.CDI_CRI in rules.strategies else (),
    )


def _mps(grant: Grant) -> ContainerResponse:
    resource, host = grant.resource, MpsRoot(grant.rules.mps_root)
    whole = grant.devices and all(device.replica is None for device in grant.devices)
    if resource.sharing is not SharingStrategy.MPS or whole:
        return ContainerResponse()
    pipe = MpsRoot(CONTAINER_ROOT).pipe(resource.name)
    return ContainerResponse(
        envs={"CUDA_MPS_PIPE_DIRECTORY": pipe},
        mounts=(
            ResponseMount(container_path=pipe, host_path=host.pipe(resource.name)),
            ResponseMount(container_path=_SHM, host_path=host.shm),
        ),
    )


def _extras(grant: Grant) -> ContainerResponse:
    return ContainerResponse(envs={f"NVIDIA_{cdi_class.value.upper()}": "enabled" for cdi_class in grant.rules.extras})


def _envvar(grant: Grant) -> ContainerResponse:
    if DeviceListStrategy.ENVVAR not in grant.rules.strategies:
        return ContainerResponse()
    channels = ",".join(map(str, grant.rules.imex_channels))
    return ContainerResponse(
        envs={_VISIBLE_DEVICES: ",".join(grant.names), **({_IMEX_CHANNELS: channels} if channels else {})},
    )


def _volume_mounts(grant: Grant) -> ContainerResponse:
    if DeviceListStrategy.VOLUME_MOUNTS not in grant.rules.strategies:
        return ContainerResponse()
    names = (*grant.names, *(f"imex/{channel}" for channel in grant.rules.imex_channels))
    return ContainerResponse(
        envs={_VISIBLE_DEVICES: _VOLUME_ROOT},
        mounts=tuple(ResponseMount(container_path=join(_VOLUME_ROOT, name), host_path=_NULL) for name in names),
    )


def _device_nodes(grant: Grant) -> ContainerResponse:
    rules = grant.rules
    if not rules.pass_device_specs or only_cdi(rules.strategies):
        return ContainerResponse()
    paths = (
        *rules.control_nodes,
        *(path for device in grant.devices for path in device.paths),
        *(IMEX_CHANNEL_NODE.format(channel) for channel in rules.imex_channels),
    )
    # The shares of a GPU, and the MIG devices of one, have nodes in common.
    return ContainerResponse(
        devices=tuple(
            DeviceSpec(container_path=path, host_path=normpath(join(rules.dev_root, path.lstrip("/"))))
            for path in dict.fromkeys(paths)
        )
    )


CONTRIBUTIONS: tuple[Callable[[Grant], ContainerResponse], ...] = (
    _cdi,
    _mps,
    _extras,
    _envvar,
    _volume_mounts,
    _device_nodes,
)
"""In this order: MPS mounts before all others, and volume mounts after the variable that they take over."""
