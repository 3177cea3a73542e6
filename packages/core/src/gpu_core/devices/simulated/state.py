"""A simulated node as it is now: its GPUs, what fails, and the events that nobody has taken yet."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from gpu_core.devices.simulated.commands import (
    ALL,
    OFF,
    Add,
    Command,
    Fail,
    Happen,
    Heal,
    Partition,
    Recover,
    Remove,
    parse_command,
)
from gpu_core.devices.simulated.node import SimulatedGpu, SimulatedMig, SimulatedNode
from gpu_core.devices.simulated.partition import mig_devices
from gpu_core.errors import ConfigError

Unit = SimulatedGpu | SimulatedMig


@dataclass(slots=True)
class _Failure:
    call: str
    target: str
    code: str
    left: int | None


class SimulatedState:
    """The changing part of a simulated node; every method may be called from any thread.

    `events` is a file whose appended lines are obeyed as they come (`commands` describes them). A file that
    is shorter than before is a new one: its failures and changes begin afresh.
    """

    def __init__(self, node: SimulatedNode, events: Path | None = None) -> None:
        self.lock = threading.RLock()
        self.node = node
        self._events_file = events
        self._read_to = 0
        self._rest = b""
        self._sets: dict[int, tuple[dict[str, int], deque[tuple[SimulatedGpu, Happen]]]] = {}
        self._reset()

    def _reset(self) -> None:
        """Let the node be as its file says; event sets belong to programs and stay open."""
        self._gpus: dict[int, SimulatedGpu] = dict(enumerate(self.node.gpus))
        self._gone: set[int] = set()
        self._partitions = 0
        self._failures: list[_Failure] = []

    @property
    def may_change(self) -> bool:
        """Whether there is a file by which something can happen to the node."""
        return self._events_file is not None

    def has_news(self) -> bool:
        """Whether the events file holds something that was not read yet; far cheaper than reading it."""
        if self._events_file is None:
            return False
        try:
            return self._events_file.stat().st_size != self._read_to
        except OSError:
            return False

    def gpus(self) -> dict[int, SimulatedGpu]:
        """Return the GPUs that are there, by index; an index keeps its GPU, and gaps stay."""
        with self.lock:
            self._follow()
            return {index: gpu for index, gpu in self._gpus.items() if index not in self._gone}

    def failure(self, call: str, unit: Unit | None) -> str | None:
        """Return with which code a call fails for a GPU or MIG device now, None when it works."""
        with self.lock:
            self._follow()
            for failure in self._failures:
                if failure.call != call or failure.left == 0 or not self._is_target(failure.target, unit):
                    continue
                if failure.left is not None:
                    failure.left -= 1
                return failure.code
            return None

    def open_set(self, number: int) -> None:
        """Begin an event set."""
        with self.lock:
            self._follow()
            self._sets[number] = ({}, deque())

    def close_set(self, number: int) -> bool:
        """End an event set; return whether it was there."""
        with self.lock:
            return self._sets.pop(number, None) is not None

    def register(self, number: int, gpu: SimulatedGpu, mask: int) -> bool:
        """Let a set have the events of a GPU; return whether the set is there."""
        with self.lock:
            entry = self._sets.get(number)
            if entry is None:
                return False
            entry[0][gpu.uuid] = entry[0].get(gpu.uuid, 0) | mask
            return True

    def take(self, number: int) -> tuple[SimulatedGpu, Happen] | None:
        """Return the oldest event of a set and remove it."""
        with self.lock:
            self._follow()
            entry = self._sets.get(number)
            return entry[1].popleft() if entry is not None and entry[1] else None

    def obey(self, command: Command) -> None:
        """Let something happen."""
        with self.lock:
            match command:
                case Happen():
                    self._happen(command)
                case Fail():
                    self._failures.append(_Failure(command.call, command.target, command.code, command.count))
                case Heal():
                    self._failures = [failure for failure in self._failures if not _heals(command, failure)]
                case Recover():
                    self._change(command.target, recovery=command.action)
                case Remove():
                    self._gone |= set(self._indices(command.target))
                case Add():
                    self._gone -= set(self._indices(command.target))
                case Partition():
                    self._partition(command)

    def _follow(self) -> None:
        """Read what was appended to the events file since the last look."""
        if self._events_file is None:
            return
        try:
            size = self._events_file.stat().st_size
            if size == self._read_to:
                return
            if size < self._read_to:
                self._read_to, self._rest = 0, b""
                self._reset()
            with self._events_file.open("rb") as stream:
                stream.seek(self._read_to)
                fresh = stream.read()
        except OSError:
            return
        self._read_to += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for line in lines:
            command = parse_command(line.decode("utf-8", "replace"))
            if command is not None:
                self.obey(command)

    def _happen(self, event: Happen) -> None:
        for index in self._indices(event.target):
            gpu = self._gpus[index]
            for masks, waiting in self._sets.values():
                if masks.get(gpu.uuid, 0) & event.kind:
                    waiting.append((gpu, event))

    def _partition(self, command: Partition) -> None:
        self._partitions += 1
        for index in self._indices(command.target):
            gpu = self._gpus[index]
            if command.profiles == (OFF,):
                self._gpus[index] = replace(gpu, mig_enabled=False, mig_devices=())
                continue
            salt = f"{self.node.name}/{self._partitions}"
            try:
                fresh = mig_devices(salt, index, gpu.profiles, command.profiles, "mig")
            except ConfigError:
                continue
            self._gpus[index] = replace(gpu, mig_enabled=True, mig_devices=_keeping(gpu.mig_devices, fresh))

    def _change(self, target: str, *, recovery: int | None) -> None:
        for index in self._indices(target):
            self._gpus[index] = replace(self._gpus[index], recovery=recovery)

    def _indices(self, target: str) -> Iterable[int]:
        return [index for index, gpu in self._gpus.items() if target in (ALL, str(index), gpu.uuid)]

    def _is_target(self, target: str, unit: Unit | None) -> bool:
        if target == ALL:
            return True
        if unit is None:
            return False
        for index, gpu in self._gpus.items():
            if gpu.uuid == unit.uuid:
                return target in (str(index), gpu.uuid)
            for mig in gpu.mig_devices:
                if mig.uuid == unit.uuid:
                    return target in (f"{index}:{mig.index}", mig.uuid)
        return False


def _heals(command: Heal, failure: _Failure) -> bool:
    return command.call in (ALL, failure.call) and command.target in (ALL, failure.target)


def _keeping(old: tuple[SimulatedMig, ...], fresh: tuple[SimulatedMig, ...]) -> tuple[SimulatedMig, ...]:
    """Return the new MIG devices; one in the same place with the same profile as before is still the same device."""
    places = {(mig.gpu_instance, mig.compute_instance, mig.profile.name, mig.attributes): mig.uuid for mig in old}
    return tuple(
        replace(
            mig, uuid=places.get((mig.gpu_instance, mig.compute_instance, mig.profile.name, mig.attributes), mig.uuid)
        )
        for mig in fresh
    )
