"""One failing NVML call, one moment, one node: what the plugin makes of it, in virtual time."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from fakes.nvml_matrix import NODES, Phase, Trial, victims
from fakes.virtual_plugin import Picture, VirtualPlugin, virtual_plugin
from fakes.virtual_threads import Thread
from fakes.virtual_world import World
from gpu_core.devices.simulated.commands import ALL
from gpu_core.devices.simulated.node import SimulatedNode
from gpu_core.devices.simulated.state import SimulatedState, Unit
from gpu_core.devices.simulated.told_calls import Held, IsTarget, ToldCalls
from gpu_core.errors import Ending

CONFIG = """version: v1
flags: {migStrategy: mixed, failOnInitError: false, plugin: {rescanInterval: 20s}}
health: {probeInterval: 5s, recoveryQuietTime: 10s}
"""
OTHER_CONFIG = CONFIG.replace("5s", "4s")


class Told(ToldCalls):
    """Takes note of all calls, and of whose `call` met what it was told; None is for a call that is about no GPU."""

    def __init__(self, call: str) -> None:
        super().__init__()
        self._call = call
        self.calls: set[str] = set()
        self.calling: str | None = None
        self.met: set[str | None] = set()

    def code(self, call: str, is_target: IsTarget) -> str | None:
        """Take note of a failure."""
        code = super().code(call, is_target)
        if code is not None and call == self._call:
            self.met.add(self.calling)
        return code

    def begin(self, call: str, is_target: IsTarget) -> Held | None:
        """Take note of a call, and of one that is held."""
        self.calls.add(call)
        held = super().begin(call, is_target)
        if held is not None and call == self._call:
            self.met.add(self.calling)
        return held


class State(SimulatedState):
    """Tells `Told` which GPU or MIG device a call is about."""

    def __init__(self, node: SimulatedNode, call: str) -> None:
        super().__init__(node)
        self.told: Told = Told(call)

    def failure(self, call: str, concerned: Callable[[], Unit | None]) -> str | None:
        """Return with which code a call fails."""
        return super().failure(call, lambda: self._noted(concerned()))

    def hold(self, call: str, concerned: Callable[[], Unit | None]) -> None:
        """Return when a call may answer."""
        super().hold(call, lambda: self._noted(concerned()))

    def _noted(self, unit: Unit | None) -> Unit | None:
        self.told.calling = None if unit is None else unit.uuid
        return unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the kubelet would have seen: in good order, at once, a while after, after an XID of the last GPU, healed.

    `took` are the seconds until the plugin was through with the start, scan or reload, `stop` those that stopping took.
    `met` are the GPUs and MIG devices whose calls met what they were told, with None for a call of no GPU.
    """

    before: Picture
    at_once: Picture
    during: Picture
    after_xid: Picture
    healed: Picture
    after_xids: Picture
    ever: frozenset[str]
    refused: frozenset[str]
    met: frozenset[str | None]
    errors: tuple[str, ...]
    took: float
    stuck: tuple[str, ...]
    stop: float
    log: str


def run(trial: Trial, seed: int = 0) -> Outcome:
    """Run a trial."""
    world = World(seed)
    with (
        tempfile.TemporaryDirectory() as directory,
        virtual_plugin(
            world, Path(directory), CONFIG, make_state=lambda: State(NODES[trial.node], trial.call)
        ) as plugin,
    ):
        pictures: list[Picture] = []
        times: list[float] = []
        refused: set[str] = set()
        try:
            for _ in _course(plugin, trial):
                pictures.append(plugin.offered.picture())
                times.append(world.now)
                healthy = [device for device, is_healthy in pictures[-1].items() if is_healthy]
                refused |= {device for device in healthy if not plugin.offered.allocate(device)}
            began = world.now
            plugin.app.stop()
            stop = world.now - began
        except Exception as error:
            raise AssertionError(f"{trial}: {error!r}\n{plugin.log.getvalue()}") from error
        met = frozenset(plugin.state.told.met)
        plugin.say("heal *")
        world.sleep(10)
        return Outcome(
            before=pictures[0],
            at_once=pictures[1],
            during=pictures[2],
            after_xid=pictures[3],
            healed=pictures[4],
            after_xids=pictures[5],
            ever=frozenset(plugin.offered.ever),
            refused=frozenset(refused),
            met=met,
            errors=(*map(repr, world.failures), *(line["event"] for line in plugin.lines() if "exception" in line)),
            took=times[1] - times[0],
            stuck=world.unfinished(),
            stop=stop,
            log=plugin.log.getvalue(),
        )


def called(node: str, phase: Phase) -> frozenset[str]:
    """Return the calls that a plugin makes in a phase."""
    trial = Trial(node=node, phase=phase, call="Init", target=ALL, kind="slow")
    with (
        tempfile.TemporaryDirectory() as directory,
        virtual_plugin(World(), Path(directory), CONFIG, make_state=lambda: State(NODES[node], "Init")) as plugin,
    ):
        for _ in _course(plugin, trial):
            pass
        plugin.app.stop()
        return frozenset(plugin.state.told.calls)


def end(trial: Trial, seed: int = 0) -> tuple[float, tuple[str, ...]]:
    """Tell the program to end while a call fails; return how many seconds that took, and errors."""
    world, moment, node = World(seed), random.Random(seed).uniform(0, 12), NODES[trial.node]
    told: list[float] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        virtual_plugin(world, Path(directory), CONFIG, make_state=lambda: State(node, trial.call)) as plugin,
    ):

        def signal() -> None:
            world.sleep(moment)
            told.append(world.now)
            plugin.threads.abandon()

        try:
            if trial.phase is not Phase.START:
                plugin.start()
                plugin.run(2)
            Thread(world, target=signal).start()
            _begin(plugin, trial)
            while not told:
                plugin.run(0.05)
        except Ending:
            pass
        plugin.app.stop()
        took = world.now - told[0]
        plugin.say("heal *")
        world.sleep(10)
        errors = (*map(repr, world.failures), *world.unfinished())
        return took, errors


def _begin(plugin: VirtualPlugin[State], trial: Trial) -> None:
    """Let the call fail, and its phase begin."""
    plugin.say(trial.line)
    match trial.phase:
        case Phase.START:
            plugin.start()
        case Phase.SCAN:
            plugin.rescan()
        case Phase.RELOAD:
            plugin.reload(OTHER_CONFIG)
        case Phase.REOPEN:
            plugin.say("fail DeviceGetCount * UNKNOWN count=1")
            plugin.rescan()
        case Phase.REWATCH:
            plugin.say("fail EventSetWait * UNKNOWN count=1")
        case Phase.ROUND:
            pass
        case _:
            assert_never(trial.phase)


def _course(plugin: VirtualPlugin[State], trial: Trial) -> Iterator[None]:
    """Let a trial take its course; at each stop the picture is taken."""
    last = len(NODES[trial.node].gpus) - 1
    if trial.phase is not Phase.START:
        plugin.start()
        plugin.run(2)
    yield
    _begin(plugin, trial)
    yield
    plugin.run(12)
    yield
    plugin.say(f"event {last} xid=79")
    plugin.run(1)
    yield
    plugin.say("heal *", "add *")
    for _ in range(6):
        plugin.run(10)
        if plugin.offered.picture() == dict.fromkeys(victims(NODES[trial.node], ALL), True):
            break
    yield
    plugin.say("event * xid=79")
    plugin.run(1)
    yield
