"""Reads the MIG devices of one GPU through NVML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pynvml

from gpu_core.devices.mig_minors import instance_minors
from gpu_core.devices.model import Fault, MigAttributes, MigDevice, UnreadableMig
from gpu_core.devices.nvml.calls import Facts, attempt, may
from gpu_core.devices.nvml.profiles import PROFILE_COUNT, profile_name

_EMPTY = frozenset({"NOT_FOUND", "INVALID_ARGUMENT"})
"""What a driver says of a place that holds no MIG device."""

_NO_ATTRIBUTES = MigAttributes(memory_mib=0, multiprocessors=0, gpu_instance_slices=0, compute_instance_slices=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _InstanceProfile:
    """A GPU instance profile: NVML's number for it, and the driver's name, empty on older drivers."""

    slot: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MigParent:
    """The GPU whose MIG devices are read. `memory` is in bytes, `minors` are those of MIG capabilities, by path."""

    handle: Any
    index: int
    uuid: str
    minor: int | None
    memory: int | None
    minors: Mapping[str, int]


def read_mig_devices(parent: MigParent, count: int) -> tuple[tuple[MigDevice, ...], tuple[UnreadableMig, ...]]:
    """Return the MIG devices of a GPU, by index, and the places that cannot be read; there may be `count` of them.

    Any failure is the device's own: one of its facts leaves a fault on it, and one of its handle or UUID leaves its
    place unreadable.
    """
    profiles: dict[int, _InstanceProfile] | None = None
    devices, unreadable = [], []
    for index in range(count):
        mig = _handle(parent.handle, index)
        if isinstance(mig, Fault) and mig.code in _EMPTY:
            continue
        identity = mig if isinstance(mig, Fault) else attempt("DeviceGetUUID", pynvml.nvmlDeviceGetUUID, mig)
        if isinstance(identity, Fault):
            unreadable.append(UnreadableMig(index=index, fault=identity))
            continue
        if profiles is None:
            profiles = _instance_profiles(parent.handle)
        devices.append(_read(parent, index, mig, identity, profiles))
    return tuple(devices), tuple(unreadable)


def holds_mig_devices(handle: Any) -> bool:
    """Whether a GPU has MIG devices, whatever it says of its MIG mode."""
    count = may("DeviceGetMaxMigDeviceCount", pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    return any(not isinstance(_handle(handle, index), Fault) for index in range(count))


def _handle(gpu: Any, index: int) -> Any:
    return attempt("DeviceGetMigDeviceHandleByIndex", pynvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu, index)


def _read(parent: MigParent, index: int, mig: Any, uuid: str, profiles: Mapping[int, _InstanceProfile]) -> MigDevice:
    facts = Facts()
    gpu_instance = facts.need("DeviceGetGpuInstanceId", pynvml.nvmlDeviceGetGpuInstanceId, mig)
    compute_instance = facts.need("DeviceGetComputeInstanceId", pynvml.nvmlDeviceGetComputeInstanceId, mig)
    raw = facts.need("DeviceGetAttributes", pynvml.nvmlDeviceGetAttributes_v2, mig)
    attributes = _NO_ATTRIBUTES if raw is None else _attributes(raw)
    profile = None if gpu_instance is None else _profile_of(parent.handle, gpu_instance, profiles, facts)
    names = profile_name(
        slot=None if profile is None else profile.slot,
        driver_name="" if profile is None else profile.name,
        compute_slices=attributes.compute_instance_slices,
        gpu_slices=attributes.gpu_instance_slices,
        memory_mib=attributes.memory_mib,
        total_memory=parent.memory,
    )
    minors = None
    if parent.minor is not None and gpu_instance is not None and compute_instance is not None:
        minors = instance_minors(parent.minors, parent.minor, gpu_instance, compute_instance)
    return MigDevice(
        index=index,
        uuid=uuid,
        parent_uuid=parent.uuid,
        parent_index=parent.index,
        gpu_instance=-1 if gpu_instance is None else gpu_instance,
        compute_instance=-1 if compute_instance is None else compute_instance,
        profile=names.device,
        instance_profile=names.instance,
        attributes=attributes,
        capability_minors=minors,
        faults=facts.faults,
    )


def _attributes(raw: Any) -> MigAttributes:
    return MigAttributes(
        memory_mib=int(raw.memorySizeMB),
        multiprocessors=int(raw.multiprocessorCount),
        gpu_instance_slices=int(raw.gpuInstanceSliceCount),
        compute_instance_slices=int(raw.computeInstanceSliceCount),
        copy_engines=int(raw.sharedCopyEngineCount),
        decoders=int(raw.sharedDecoderCount),
        encoders=int(raw.sharedEncoderCount),
        jpeg_engines=int(raw.sharedJpegCount),
        ofa_engines=int(raw.sharedOfaCount),
    )


def _profile_of(
    handle: Any, gpu_instance: int, profiles: Mapping[int, _InstanceProfile], facts: Facts
) -> _InstanceProfile | None:
    instance = facts.need("DeviceGetGpuInstanceById", pynvml.nvmlDeviceGetGpuInstanceById, handle, gpu_instance)
    if instance is None:
        return None
    info = facts.need("GpuInstanceGetInfo", pynvml.nvmlGpuInstanceGetInfo, instance)
    return None if info is None else profiles.get(int(info.profileId))


def _instance_profiles(handle: Any) -> dict[int, _InstanceProfile]:
    """Return the GPU instance profiles that a GPU offers, by their id."""
    found = (may("DeviceGetGpuInstanceProfileInfo", _profile, handle, slot) for slot in range(PROFILE_COUNT))
    return dict(profile for profile in found if profile is not None)


def _profile(handle: Any, slot: int) -> tuple[int, _InstanceProfile]:
    """Ask for a profile's id and name, and on older drivers for its id alone."""
    try:
        info = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, slot, version=2)
        name: str = info.name
    except pynvml.NVMLError_FunctionNotFound:
        info, name = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, slot, version=1), ""
    return int(info.id), _InstanceProfile(slot=slot, name=name)
