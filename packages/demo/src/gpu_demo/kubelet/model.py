"""What the kubelet is told to do, and what it knows of a plugin: its options, its devices, a container's grant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpu_kubelet._pb import deviceplugin_pb2 as pb


class Registers(StrEnum):
    """What becomes of a valid Register call."""

    SERVED = "served"
    """Dial back, ask for the options, answer, open ListAndWatch; Kubernetes 1.26 and newer."""

    SERVED_LATER = "served later"
    """Answer first, then do the rest; older Kubernetes."""

    REFUSED = "refused"
    """Answer with an error."""

    FORGOTTEN = "forgotten"
    """Answer, and never dial back."""

    UNANSWERED = "unanswered"
    """Leave the call open until its deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How to treat plugins.

    `opens_stream` false dials back and asks for the options, but opens no ListAndWatch. `takes_lists` false finds every
    list too large, which ends its stream. `refusal` is the name of the gRPC status with which a call is refused; Go's
    servers send a plain error as UNKNOWN.
    """

    registers: Registers = Registers.SERVED
    opens_stream: bool = True
    takes_lists: bool = True
    refusal: str = "UNKNOWN"


HEALTHY = "Healthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a plugin asks to be asked."""

    pre_start_required: bool = False
    preferred_allocation: bool = False

    @classmethod
    def of(cls, message: pb.DevicePluginOptions) -> Options:
        """Read the protocol's message."""
        return cls(
            pre_start_required=message.pre_start_required,
            preferred_allocation=message.get_preferred_allocation_available,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDevice:
    """One device of a list. `health` is the word that was sent; `numa_nodes` is empty where no topology was."""

    id: str
    health: str = HEALTHY
    numa_nodes: tuple[int, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether it may be allocated: every word but `Healthy` says no."""
        return self.health == HEALTHY

    @classmethod
    def of(cls, message: pb.Device) -> ListedDevice:
        """Read the protocol's message."""
        nodes = tuple(node.ID for node in message.topology.nodes)
        return cls(id=message.ID, health=message.health, numa_nodes=nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Devices that a container was given, what was preferred for it (None: not asked), and the plugin's answer."""

    resource: str
    devices: tuple[str, ...]
    preferred: tuple[str, ...] | None
    response: pb.ContainerAllocateResponse
