"""The MIG devices of a simulated GPU, from the names of their profiles."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_core.devices.model import MigAttributes
from gpu_core.devices.simulated.node import SimulatedMig, SimulatedProfile
from gpu_core.devices.simulated.values import NAMESPACE, integer, mapping, natural
from gpu_core.errors import ConfigError

_FIRST_INSTANCE = {1: 7, 2: 3, 3: 1, 4: 1, 6: 0, 7: 0, 8: 0}
"""The number that a driver gives the first GPU instance of so many slices."""


def mig_devices(
    node: str, gpu: int, profiles: Sequence[SimulatedProfile], wanted: Sequence[object], where: str
) -> tuple[SimulatedMig, ...]:
    """Return MIG devices by their profiles: `2g.10gb`, `1g.5gb x3`, `1c.3g.20gb`, or a mapping with a `uuid` too."""
    by_name = {profile.name: profile for profile in profiles}
    next_instance = dict(_FIRST_INSTANCE)
    devices: list[SimulatedMig] = []
    for entry in wanted:
        explicit = entry if isinstance(entry, Mapping) else {"profile": entry}
        text, _, times = str(explicit.get("profile")).partition(" x")
        compute, _, whole = text.rpartition("c.")
        profile = by_name.get(whole)
        if profile is None:
            known = ", ".join(by_name) or "none, as this GPU has no MIG"
            raise ConfigError(f"{where}: unknown MIG profile {text!r}. Profiles of this GPU: {known}.")
        slices = profile.attributes.gpu_instance_slices
        size = int(compute) if compute.isdecimal() else slices
        if not 0 < size <= slices:
            raise ConfigError(f"{where}: {text!r} takes {size} of {slices} slices; at least 1 is needed.")
        for _ in range(int(times) if times.isdecimal() else 1):
            instance = next_instance[slices]
            next_instance[slices] += 1
            parts = range(1) if "uuid" in explicit else range(slices // size)
            for part in parts:
                index = len(devices)
                uuid = f"MIG-{uuids.uuid5(NAMESPACE, f'{node}/{gpu}/{index}')}"
                place = {"index": index, "instance": instance, "part": part, "size": size}
                devices.append(_mig(profile, explicit, uuid=uuid, where=where, **place))
    return tuple(devices)


def _mig(
    profile: SimulatedProfile,
    explicit: Mapping[str, Any],
    *,
    index: int,
    uuid: str,
    instance: int,
    part: int,
    size: int,
    where: str,
) -> SimulatedMig:
    whole = profile.attributes
    slices = whole.gpu_instance_slices
    attributes = MigAttributes(
        memory_mib=whole.memory_mib,
        multiprocessors=whole.multiprocessors * size // slices,
        gpu_instance_slices=slices,
        compute_instance_slices=size,
        copy_engines=whole.copy_engines,
        decoders=whole.decoders,
        encoders=whole.encoders,
        jpeg_engines=whole.jpeg_engines,
        ofa_engines=whole.ofa_engines,
    )
    return SimulatedMig(
        index=index,
        uuid=str(explicit.get("uuid", uuid)),
        gpu_instance=natural(explicit.get("gpu_instance", instance), f"{where}: gpu_instance"),
        compute_instance=natural(explicit.get("compute_instance", part), f"{where}: compute_instance"),
        profile=profile,
        attributes=attributes,
    )


def profile(name: str, entry: object, where: str) -> SimulatedProfile:
    """Return a GPU instance profile from its entry in a table."""
    keys = ["slot", "id", "slices", "memory", "sm", "copy", "decoders", "encoders", "jpeg", "ofa"]
    facts = mapping(entry, where, frozenset(keys))
    number = {key: integer(facts.get(key, 0), f"{where}.{key}") for key in keys}
    return SimulatedProfile(
        name=str(name),
        slot=number["slot"],
        id=number["id"],
        attributes=MigAttributes(
            memory_mib=number["memory"],
            multiprocessors=number["sm"],
            gpu_instance_slices=number["slices"],
            compute_instance_slices=number["slices"],
            copy_engines=number["copy"],
            decoders=number["decoders"],
            encoders=number["encoders"],
            jpeg_engines=number["jpeg"],
            ofa_engines=number["ofa"],
        ),
    )
