"""The handles that a simulated library gives out, and what stands behind them now."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pynvml

from gpu_core.devices.simulated.c_values import address
from gpu_core.devices.simulated.node import SimulatedGpu, SimulatedProfile
from gpu_core.devices.simulated.state import SimulatedState, Unit

_ALIGNMENT_BITS, _INDEX_BITS, _PLACE_BITS = 4, 12, 28
_NO_GPU = (1 << _INDEX_BITS) - 1
_PLACE = (1 << _PLACE_BITS) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU or MIG device, as it was between two departures of its GPU from the bus."""

    uuid: str
    departures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuInstance:
    """A GPU instance of a MIG GPU."""

    gpu: Device
    number: int
    profile: SimulatedProfile


class Handles:
    """Numbers behind opaque pointers: always the same one for the same thing, and another one for whatever comes later.

    A number tells by itself which GPU it belonged to, and how often that had left the bus. So a handle is answered
    as lost for ever, though nothing is kept of things that are gone.
    """

    def __init__(self, state: SimulatedState) -> None:
        self.state = state
        self._serials = itertools.count(1)
        self._things: dict[int, Device | GpuInstance] = {}
        self._numbers: dict[Device | GpuInstance, int] = {}
        self._version = state.version

    def __len__(self) -> int:
        return len(self._things)

    def give(self, unit: Unit) -> int:
        """Return the handle of a GPU or MIG device."""
        with self.state.lock:
            index, _ = self._parent(unit)
            return self._give(index, Device(uuid=unit.uuid, departures=self.state.departures(index)))

    def give_instance(self, gpu: SimulatedGpu, number: int, profile: SimulatedProfile) -> int:
        """Return the handle of a GPU instance."""
        with self.state.lock:
            index, _ = self._parent(gpu)
            device = Device(uuid=gpu.uuid, departures=self.state.departures(index))
            return self._give(index, GpuInstance(gpu=device, number=number, profile=profile))

    def new_number(self) -> int:
        """Return a number that stands for nothing yet and belongs to no GPU."""
        return self._number(_NO_GPU)

    def instance(self, argument: Any) -> GpuInstance | None:
        """Return the GPU instance of a handle."""
        thing = self._things.get(address(argument))
        return thing if isinstance(thing, GpuInstance) else None

    def unit(self, argument: Any) -> Unit | None:
        """Return the GPU or MIG device of a handle as it is now; of a GPU instance, its GPU. None where it is gone."""
        thing = self._things.get(address(argument))
        return None if thing is None else self._standing(thing)

    def refusal(self, argument: Any) -> int:
        """Return how a driver answers a handle behind which nothing stands."""
        number = address(argument)
        index = number >> _ALIGNMENT_BITS & _NO_GPU
        known = number > 0 and index < len(self.state.node.gpus)
        lost = known and number >> _ALIGNMENT_BITS & _PLACE != self._place(index)
        return int(pynvml.NVML_ERROR_GPU_IS_LOST if lost else pynvml.NVML_ERROR_INVALID_ARGUMENT)

    def find(self, uuid: str) -> Unit | None:
        """Return the GPU or MIG device of a UUID, if it is there."""
        for gpu in self.state.gpus().values():
            if gpu.uuid == uuid:
                return gpu
            for mig in gpu.mig_devices:
                if mig.uuid == uuid:
                    return mig
        return None

    def parent(self, unit: Unit) -> SimulatedGpu:
        """Return the GPU of a MIG device; a GPU is its own."""
        return unit if isinstance(unit, SimulatedGpu) else self._parent(unit)[1]

    def _parent(self, unit: Unit) -> tuple[int, SimulatedGpu]:
        uuid = unit.uuid
        return next(
            (index, gpu)
            for index, gpu in self.state.gpus().items()
            if gpu.uuid == uuid or any(mig.uuid == uuid for mig in gpu.mig_devices)
        )

    def _give(self, index: int, thing: Device | GpuInstance) -> int:
        self._forget_what_is_gone()
        number = self._numbers.get(thing)
        if number is None:
            number = self._number(self._place(index))
            self._things[number], self._numbers[thing] = thing, number
        return number

    def _forget_what_is_gone(self) -> None:
        if self._version != self.state.version:
            self._version = self.state.version
            self._things = {known: thing for known, thing in self._things.items() if self._standing(thing) is not None}
            self._numbers = {thing: known for known, thing in self._things.items()}

    def _place(self, index: int) -> int:
        """Return what numbers have in common that are given out for one GPU until it leaves the bus."""
        return (self.state.departures(index) << _INDEX_BITS | index) & _PLACE

    def _number(self, place: int) -> int:
        return (next(self._serials) << _PLACE_BITS | place) << _ALIGNMENT_BITS

    def _standing(self, thing: Device | GpuInstance) -> Unit | None:
        device = thing.gpu if isinstance(thing, GpuInstance) else thing
        for index, gpu in self.state.gpus().items():
            if self.state.departures(index) != device.departures:
                continue
            units: tuple[Unit, ...] = (gpu, *gpu.mig_devices)
            for unit in units:
                if unit.uuid == device.uuid:
                    return unit if isinstance(thing, Device) or _has(gpu, thing) else None
        return None


def _has(gpu: SimulatedGpu, instance: GpuInstance) -> bool:
    wanted = (instance.number, instance.profile)
    return any((mig.gpu_instance, mig.profile) == wanted for mig in gpu.mig_devices)
