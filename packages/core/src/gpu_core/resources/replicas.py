"""Sharing: which devices are divided into how many shares, and under which names those are advertised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpu_core.config.sharing import ReplicatedResource, Sharing
from gpu_core.config.words import AllocationPolicy, SharingStrategy
from gpu_core.errors import ResourceError
from gpu_core.resources.list_size import LARGEST_LIST, Row, list_bytes, most_replicas
from gpu_core.resources.model import Device
from gpu_core.resources.names import advertised_name

SECTIONS = {SharingStrategy.TIME_SLICING: "timeSlicing", SharingStrategy.MPS: "mps"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Devices by full resource name after sharing, and the policies that entries ask for.

    The devices of a resource may be whole ones, shares, or both.
    """

    devices: Mapping[str, tuple[Device, ...]]
    policies: Mapping[str, AllocationPolicy]


def share(pools: Mapping[str, tuple[Device, ...]], sharing: Sharing, *, custom: bool) -> Shares:
    """Divide the devices of `pools` as `sharing` says.

    An entry whose resource this node does not have is passed over, since one file serves many nodes. Without `custom`
    an entry always concerns all devices of its resource. Raises ResourceError, naming the entry, for devices that do
    not exist, that another entry has already, or that are fewer than asked for, and for more shares than the kubelet
    takes in one list.
    """
    drafts: dict[str, _Draft] = {}
    policies: dict[str, AllocationPolicy] = {}
    owners: dict[tuple[str, str], str] = {}
    for place, entry in _entries(sharing):
        if entry.name not in pools:
            continue
        name = advertised_name(entry, sharing.replicated, custom=custom)
        chosen = _chosen(entry, pools[entry.name], place) if custom else pools[entry.name]
        for device in chosen:
            owner = owners.setdefault((entry.name, device.uuid), place)
            if custom and owner != place:
                raise ResourceError(f"{place} shares device {_said(device)}, which {owner} shares already. Keep one.")
        drafts.setdefault(name, _Draft()).divide(chosen, entry.replicas, place)
        if entry.allocation_policy is not None:
            policies[name] = entry.allocation_policy
    for name, pool in pools.items():
        whole = [device for device in pool if (name, device.uuid) not in owners]
        if whole:
            drafts.setdefault(name, _Draft()).whole.extend(whole)
    for name, draft in drafts.items():
        draft.check_room(name)
    return Shares(devices={name: draft.devices() for name, draft in drafts.items()}, policies=policies)


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A resource in the making: whole devices, devices with the number of their shares, and who asks for these."""

    whole: list[Device] = field(default_factory=list)
    shared: dict[str, tuple[Device, int]] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def divide(self, devices: Iterable[Device], replicas: int, place: str) -> None:
        """Share devices. Where two entries name the same, the shares of the larger one include those of the other."""
        self.places.append(place)
        for device in devices:
            _, known = self.shared.get(device.id, (device, 0))
            self.shared[device.id] = (device, max(known, replicas))

    def check_room(self, name: str) -> None:
        """Raise ResourceError when the kubelet would not take the list; asked before any share takes memory."""
        rows = [_row(device) for device in self.whole]
        rows += [_row(device, replicas) for device, replicas in self.shared.values()]
        size = list_bytes(rows)
        if size <= LARGEST_LIST:
            return
        count = sum(row.replicas or 1 for row in rows)
        raise ResourceError(
            f"The list of {name} would have {count} entries and {size} bytes, and the kubelet takes "
            f"{LARGEST_LIST} bytes at most. On this node {_devices(len(self.shared))} can be shared in at most "
            f"{most_replicas(rows)} replicas; lower `replicas` in {' and '.join(self.places)}."
        )

    def devices(self) -> tuple[Device, ...]:
        """Return the devices and shares in their order."""
        parts = [part for device, replicas in self.shared.values() for part in _parts(device, replicas)]
        return tuple(sorted([*parts, *self.whole], key=_place))


def _entries(sharing: Sharing) -> Iterator[tuple[str, ReplicatedResource]]:
    for number, entry in sharing.entries:
        yield f"sharing.{SECTIONS[sharing.strategy]}.resources[{number}] ({entry.name})", entry


def _chosen(entry: ReplicatedResource, pool: tuple[Device, ...], place: str) -> tuple[Device, ...]:
    wanted = entry.devices
    if wanted == "all":
        return pool
    if isinstance(wanted, int):
        if wanted > len(pool):
            raise ResourceError(
                f"{place} asks for {wanted} devices, but this node has {len(pool)}. Lower the number, or write `all`."
            )
        return pool[:wanted]
    known = {reference: device for device in pool for reference in (device.uuid, device.index)}
    chosen: dict[str, Device] = {}
    for reference in wanted:
        device = known.get(reference)
        if device is None:
            raise ResourceError(
                f"{place} names device {reference}, which this node does not have under that resource. It has "
                f"{', '.join(map(_said, pool))}."
            )
        if device.uuid in chosen:
            raise ResourceError(f"{place} names device {_said(device)} twice. Name each device once.")
        chosen[device.uuid] = device
    return tuple(device for device in pool if device.uuid in chosen)


def _parts(device: Device, replicas: int) -> Iterator[Device]:
    for number in range(replicas):
        yield replace(device, id=f"{device.id}::{number}", replica=number, replicas=replicas)


def _row(device: Device, replicas: int = 0) -> Row:
    return Row(id_bytes=len(device.id.encode()), numa_node=device.numa_node, replicas=replicas)


def _devices(count: int) -> str:
    return "one device" if count == 1 else f"{count} devices"


def _place(device: Device) -> tuple[int, ...]:
    gpu, mig = device.gpu, device.mig
    return () if gpu is None else (gpu.index, -1 if mig is None else mig.index)


def _said(device: Device) -> str:
    return f"{device.index} ({device.uuid})"
