"""Random histories of a failing NVML, in virtual time: once it is healed, everything is in step again.

The suite runs some of them; with NVML_HISTORIES=1000 it runs more. A failure names its seed.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from fakes.nvml_matrix import CALLS, KINDS, NODES, Phase, Trial
from fakes.nvml_trials import CONFIG, OTHER_CONFIG
from fakes.virtual_plugin import VirtualPlugin, virtual_plugin
from fakes.virtual_world import World
from gpu_core.devices.simulated.state import SimulatedState

HISTORIES = int(os.environ.get("NVML_HISTORIES", "20"))

STEPS = 12
LAYOUTS = ("1g.5gb x7", "3g.20gb 2g.10gb 1g.5gb", "2g.10gb x3", "", "off", "7g.40gb")
PROBE = 6.0
"""Seconds in which every GPU was asked."""

LONGEST = 150.0
"""Seconds until all is well: the driver may just have been given up for a minute."""


class History:
    """What happens to one plugin."""

    def __init__(self, seed: int, plugin: VirtualPlugin[SimulatedState]) -> None:
        self.chance = random.Random(seed)
        self.plugin = plugin
        self.steps: list[str] = []

    def present(self) -> set[str]:
        """Return the devices that the node has now."""
        gpus = self.plugin.state.gpus().values()
        parts = {mig.uuid for gpu in gpus for mig in gpu.mig_devices}
        # One in MIG mode that has no MIG devices is no device itself.
        return parts | {gpu.uuid for gpu in gpus if not gpu.mig_enabled}

    def step(self) -> None:
        """Let something happen."""
        chance, plugin = self.chance, self.plugin
        target = chance.choice(["0", "1", "2", "0:0", "1:2", "*"])
        match chance.randrange(10):
            case 0 | 1 | 2 | 3:
                call, kind = chance.choice(sorted(CALLS)), chance.choice(KINDS)
                trial = Trial(node="mig", phase=Phase.ROUND, call=call, target=target, kind=kind)
                self.say(trial.line)
            case 4:
                self.say(chance.choice(["heal *", f"heal * {target}", f"event {target} xid=79"]))
            case 5:
                self.say(f"{chance.choice(['remove', 'add'])} {target}")
            case 6:
                self.say(f"mig {chance.choice('01')} {chance.choice(LAYOUTS)}".strip())
            case 7:
                self.steps.append("rescan")
                plugin.rescan()
            case _:
                self.steps.append("reload")
                plugin.reload(chance.choice([CONFIG, OTHER_CONFIG]))
        seconds = chance.choice([0.0, 0.1, 1.0, 5.0, 25.0])
        self.steps.append(f"{seconds} s")
        plugin.run(seconds)

    def say(self, line: str) -> None:
        """Tell the node what happens."""
        self.steps.append(line)
        self.plugin.say(line)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_whatever_happened_all_is_well_once_the_driver_is(seed: int, tmp_path: Path) -> None:
    world = World(seed)
    with virtual_plugin(world, tmp_path, CONFIG, make_state=lambda: SimulatedState(NODES["mig"])) as plugin:
        history = History(seed, plugin)
        plugin.start()
        for _ in range(STEPS):
            history.step()
        history.say("heal *")
        history.say("add *")
        # A GPU that left and came back between two probes is watched again after the next one.
        plugin.run(PROBE)
        end = world.now + LONGEST
        while plugin.offered.picture() != dict.fromkeys(history.present(), True) and world.now < end:
            plugin.run(5)
        well, present = plugin.offered.picture(), history.present()
        plugin.say("event * xid=79")
        plugin.run(1)
        unheard = sum(plugin.offered.picture().values())
        plugin.app.stop()
        world.sleep(5)
        told = "\n".join(history.steps)
        assert (well, unheard) == (dict.fromkeys(present, True), 0), f"{told}\n{plugin.log.getvalue()}"
        assert (world.failures, world.unfinished()) == ([], ()), told
        assert [line for line in plugin.lines() if "exception" in line] == []
