"""Which devices a container gets, and which are given already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpu_demo.kubelet.endpoint import Endpoint
from gpu_demo.kubelet.model import Grant, ListedDevice


class NotEnoughDevicesError(LookupError):
    """A container asks for more healthy free devices than there are."""


class Containers:
    """The devices that containers hold, by resource. Plugins hear of what is given, never of what comes back."""

    def __init__(self) -> None:
        self._given: dict[str, set[str]] = {}

    def admit(self, endpoint: Endpoint, count: int) -> Grant:
        """Give a container `count` devices; raises NotEnoughDevicesError, or grpc.RpcError as the plugin answers."""
        given = self._given.setdefault(endpoint.resource, set())
        free = available(endpoint.devices, given)
        if len(free) < count:
            raise NotEnoughDevicesError(
                f"A container asks for {count} of {endpoint.resource}, of which {len(free)} are healthy and free."
            )
        preferred = None
        if endpoint.options.preferred_allocation:
            preferred = endpoint.preferred(available=free, must_include=(), size=count)
        chosen = choose(free, preferred or (), count)
        response = endpoint.allocate(chosen).container_responses[0]
        if endpoint.options.pre_start_required:
            endpoint.pre_start(chosen)
        given.update(chosen)
        return Grant(resource=endpoint.resource, devices=chosen, preferred=preferred, response=response)

    def release(self, grant: Grant) -> None:
        """Take a container's devices back."""
        self._given[grant.resource].difference_update(grant.devices)


def available(devices: Iterable[ListedDevice], given: set[str]) -> tuple[str, ...]:
    """Return the ids of the healthy free devices, sorted so that every run offers them in the same order."""
    return tuple(sorted(device.id for device in devices if device.healthy and device.id not in given))


def choose(free: Sequence[str], preferred: Sequence[str], count: int) -> tuple[str, ...]:
    """Return `count` of the free devices: the preferred ones first, as far as they are free, then others."""
    order = dict.fromkeys([*(id_ for id_ in preferred if id_ in free), *free])
    return tuple(order)[:count]
