"""What a running plugin keeps of devices that are gone: nothing."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from fakes.running_plugin import RunningPlugin, run_plugin, topology
from gpu_demo.kubelet import Kubelet, Listed

LAYOUTS = ("3g.20gb 2g.10gb", "1g.5gb x7", "off")


def texts(root: object) -> Iterator[str]:
    """Give every text that can be reached from an object, without going through modules and classes."""
    passed = {id(module) for module in tuple(sys.modules.values())}
    passed |= {id(vars(module)) for module in tuple(sys.modules.values())}
    waiting = deque([root])
    while waiting:
        thing = waiting.popleft()
        if id(thing) in passed or isinstance(thing, type):
            continue
        passed.add(id(thing))
        if isinstance(thing, str):
            yield thing
        waiting.extend(gc.get_referents(thing))


def known(plugin: RunningPlugin) -> set[str]:
    """Return the UUIDs of the MIG devices that are served."""
    inventory = plugin.app.node.inventory
    assert inventory is not None
    return {mig.uuid for gpu in inventory.gpus for mig in gpu.mig_devices}


def test_a_plugin_keeps_nothing_of_mig_devices_that_are_gone(kubelet: Kubelet) -> None:
    # What the node file holds is the simulated node's, so it is gone from the start. Without the driver's list of
    # device nodes there is a warning that names the MIG devices.
    node = replace(topology("a100-mig-mixed"), mig_minors=False)
    with run_plugin(kubelet, node, "--mig-strategy=mixed", before=["mig 0 off", "mig 0 1g.5gb"]) as plugin:
        kubelet.log.wait_for(Listed)
        seen = known(plugin)
        for turn in range(12):
            layout = LAYOUTS[turn % len(LAYOUTS)]
            plugin.say(f"mig 0 {layout}", "event 0 xid=94 gi=1 ci=0", "fail DeviceGetAttributes 0:0 UNKNOWN count=1")
            plugin.rescan()
            seen |= known(plugin)
            plugin.say("remove 0")
            plugin.rescan()
            plugin.say("add 0")
            plugin.rescan()
        assert plugin.log.count("does not name the device nodes")
        gone = seen - known(plugin)
        kept = {uuid for text in texts(plugin.app) for uuid in gone if uuid in text}
    assert (len(gone), kept) == (1 + 4 * 9, set())
