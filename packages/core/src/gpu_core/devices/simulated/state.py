"""A simulated node as it is now: its GPUs, what calls were told to do, and its event sets."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from gpu_core.devices.simulated.commands import (
    ALL,
    OFF,
    Add,
    Command,
    Fail,
    Hang,
    Happen,
    Heal,
    Partition,
    Recover,
    Remove,
    Slow,
    parse_command,
)
from gpu_core.devices.simulated.event_sets import EventSets
from gpu_core.devices.simulated.node import SimulatedGpu, SimulatedMig, SimulatedNode
from gpu_core.devices.simulated.partition import mig_devices
from gpu_core.devices.simulated.told_calls import ToldCalls
from gpu_core.errors import ConfigError
from gpu_core.files import open_regular

Unit = SimulatedGpu | SimulatedMig

STEP = 0.04
"""Seconds between two looks at the events file while a call waits for what may stand there."""


class SimulatedState:
    """The changing part of a simulated node; every method may be called from any thread.

    `events` is a file whose appended lines are obeyed as they come (`commands` describes them). A file that
    is shorter than before is a new one: its failures and changes begin afresh, and no call hangs any more.
    """

    def __init__(self, node: SimulatedNode, events: Path | None = None) -> None:
        self.lock = threading.RLock()
        self.node = node
        self.event_sets = EventSets()
        self._changed = threading.Condition(self.lock)
        self._events_file = events
        self._read_to = 0
        self._rest = b""
        self._departures = [0] * len(node.gpus)
        self._version = 0
        self.told = ToldCalls()
        self._reset()

    def _reset(self) -> None:
        """Let the node be as its file says; event sets and handles belong to programs and stay as they are."""
        self._gpus: dict[int, SimulatedGpu] = dict(enumerate(self.node.gpus))
        self._gone: set[int] = set()
        self._partitions = 0
        self._version += 1
        self.told.heal(Heal(call=ALL))

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
        """Return the GPUs that are there, by index, as of the last look; an index keeps its GPU, and gaps stay."""
        with self.lock:
            return {index: gpu for index, gpu in self._gpus.items() if index not in self._gone}

    @property
    def version(self) -> int:
        """A number that grows whenever GPUs or MIG devices may have gone."""
        return self._version

    def departures(self, index: int) -> int:
        """Return how often the GPU of an index has left the bus; what was given out before such a time is void."""
        with self.lock:
            return self._departures[index]

    def failure(self, call: str, concerned: Callable[[], Unit | None]) -> str | None:
        """Return with which code a call that concerns a GPU or MIG device fails now, None when it works."""
        with self.lock:
            self.follow()
            unit = concerned()
            return self.told.code(call, lambda target: self._is_target(target, unit))

    def hold(self, call: str, concerned: Callable[[], Unit | None]) -> None:
        """Return when a call that begins now may answer: at once, unless it was told to hang or to be slow.

        The lock is not held meanwhile, so that no other call waits.
        """
        with self._changed:
            self.follow()
            unit = concerned()
            held = self.told.begin(call, lambda target: self._is_target(target, unit))
            if held is None:
                return
            end = time.monotonic() + held.seconds
            try:
                while not held.freed and (left := end - time.monotonic()) > 0:
                    longest = STEP if self.may_change else left
                    self._changed.wait(None if longest == math.inf else min(longest, left))
                    self.follow()
            finally:
                self.told.end(held)

    def obey(self, command: Command) -> None:
        """Let something happen."""
        with self.lock:
            match command:
                case Happen():
                    for index in self._indices(command.target):
                        self.event_sets.happen(self._gpus[index].uuid, command)
                case Fail() | Hang() | Slow():
                    self.told.tell(command)
                case Heal():
                    self.told.heal(command)
                    self._changed.notify_all()
                case Recover():
                    self._change(command.target, recovery=command.action)
                case Remove():
                    self._remove(command.target)
                case Add():
                    self._gone -= set(self._indices(command.target))
                case Partition():
                    self._partition(command)

    def follow(self) -> None:
        """Read what was appended to the events file since the last look."""
        if self._events_file is None:
            return
        with self.lock:
            try:
                size = self._events_file.stat().st_size
                if size == self._read_to:
                    return
                if size < self._read_to:
                    self._read_to, self._rest = 0, b""
                    self._reset()
                    self._changed.notify_all()
                with os.fdopen(open_regular(self._events_file), "rb") as stream:
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

    def _remove(self, target: str) -> None:
        """Let GPUs leave the bus; a driver forgets their handles and that anybody wanted their events."""
        for index in set(self._indices(target)) - self._gone:
            self._gone.add(index)
            self._departures[index] += 1
            self._version += 1
            self.event_sets.forget(self._gpus[index].uuid)

    def _partition(self, command: Partition) -> None:
        self._partitions += 1
        self._version += 1
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


def _keeping(old: tuple[SimulatedMig, ...], fresh: tuple[SimulatedMig, ...]) -> tuple[SimulatedMig, ...]:
    """Return the new MIG devices; one in the same place with the same profile as before is still the same device."""
    places = {(mig.gpu_instance, mig.compute_instance, mig.profile.name, mig.attributes): mig.uuid for mig in old}
    return tuple(
        replace(
            mig, uuid=places.get((mig.gpu_instance, mig.compute_instance, mig.profile.name, mig.attributes), mig.uuid)
        )
        for mig in fresh
    )
