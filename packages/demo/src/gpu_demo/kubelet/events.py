"""What happens to a kubelet, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_demo.kubelet.model import ListedDevice, Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened. `resource` is None where the whole kubelet is concerned."""

    resource: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event):
    """The kubelet's socket accepts calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped(Event):
    """Every connection is closed; `socket_left` tells that the socket file stayed, as after a crash."""

    socket_left: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered(Event):
    """A Register call was accepted; `options` are the ones that it carried."""

    version: str
    endpoint: str
    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(Event):
    """A Register call was answered with an error."""

    version: str
    endpoint: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOpened(Event):
    """ListAndWatch was called; `options` are what GetDevicePluginOptions had answered before."""

    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Event):
    """A list arrived on the resource's stream."""

    devices: tuple[ListedDevice, ...]

    @property
    def health(self) -> dict[str, str]:
        """The health word of every device by its id."""
        return {device.id: device.health for device in self.devices}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded(Event):
    """The resource's stream is over; `reason` says who ended it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DialFailed(Event):
    """A plugin whose registration was answered already could not be dialled."""

    endpoint: str
    reason: str
