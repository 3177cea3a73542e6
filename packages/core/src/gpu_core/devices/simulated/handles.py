"""The handles that a simulated library gives out, and what stands behind them now."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from gpu_core.devices.simulated.c_values import address
from gpu_core.devices.simulated.node import SimulatedGpu, SimulatedMig, SimulatedProfile
from gpu_core.devices.simulated.state import SimulatedState, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuInstance:
    """A GPU instance of a MIG GPU."""

    gpu: str
    number: int
    profile: SimulatedProfile


class Handles:
    """Numbers behind opaque pointers: one for each thing, and always the same one."""

    def __init__(self, state: SimulatedState) -> None:
        self.state = state
        self._numbers = itertools.count(0x1000, 0x10)
        self._things: dict[int, object] = {}
        self._by_key: dict[object, int] = {}

    def give(self, key: object, thing: object) -> int:
        """Return the handle of a thing; `key` tells it from all others."""
        handle = self._by_key.get(key)
        if handle is None:
            handle = self._by_key[key] = next(self._numbers)
        self._things[handle] = thing
        return handle

    def thing(self, argument: Any) -> object | None:
        """Return what a handle was given for."""
        return self._things.get(address(argument))

    def unit(self, argument: Any) -> Unit | None:
        """Return the GPU or MIG device of a handle as it is now; of a GPU instance, its GPU. None where it is gone."""
        thing = self.thing(argument)
        if isinstance(thing, GpuInstance):
            return self.find(thing.gpu)
        return self.find(thing.uuid) if isinstance(thing, SimulatedGpu | SimulatedMig) else None

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
        if isinstance(unit, SimulatedGpu):
            return unit
        gpus = self.state.gpus().values()
        return next(gpu for gpu in gpus if any(device.uuid == unit.uuid for device in gpu.mig_devices))
