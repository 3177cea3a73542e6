"""The book of health between threads: what is told of it, and in which order."""

from __future__ import annotations

import threading

from core.health.books import HEALTHY, WATCHED, rules, xid
from core.resources.building import LOST, node_of, whole_gpu
from device_plugin.metrics import HEALTH
from fakes.patience import PATIENCE
from fakes.running_plugin import run_plugin
from gpu_core.devices.backend import Answer
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.health.catalogue import xid_advice
from gpu_core.runtime.counters import Counters
from gpu_demo.kubelet import Kubelet, Listed

NODE = node_of(whole_gpu(0))


def test_what_happens_to_a_gpu_is_told_in_the_order_in_which_it_came_about() -> None:
    told: list[bool] = []
    held, go = threading.Event(), threading.Event()
    recovering = threading.Thread(
        target=lambda: health.answered(NODE.gpus[0], Answer(watching=WATCHED, probe=HEALTHY)), name="recovering"
    )

    def changed() -> None:
        """Let the thread that has made the GPU healthy take its time to list it."""
        if threading.current_thread() is recovering:
            held.set()
            go.wait(PATIENCE)

    health = NodeHealth(
        rules(quiet=0),
        counters=Counters(),
        metrics=HEALTH,
        observers=[lambda transition, _: told.append(transition.healthy)],
    )
    health.listen(changed)
    health.inventory(NODE)
    health.unwatched(LOST)
    recovering.start()
    assert held.wait(PATIENCE)
    health.event(xid())
    go.set()
    recovering.join(PATIENCE)
    assert told == [False, True, False]


def test_the_log_tells_what_helps_against_what_is_wrong(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config="health: {xidPolicy: catalogue}\n") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("event 0 xid=94", "event 1 xid=109", "event 2 xid=4711")
        plugin.log.wait_for("A device is unhealthy now", times=2)
        plugin.log.wait_for("The driver reported an event", times=3)
        lines = plugin.log.lines()
        unhealthy = [
            gpu.uuid for gpu in plugin.app.node.health.gpus if plugin.app.node.health.ledger.any_unhealthy([gpu.uuid])
        ]
    said = [
        (line["reason"], line["advice"])
        for line in lines
        if line["event"] in ("A device is unhealthy now", "The driver reported an event")
    ]
    assert set(said) == {
        ("XID 94 (Contained ECC error) is ignored", xid_advice(94)),
        ("XID 109 (Context switch timed out) occurred", xid_advice(109)),
        ("XID 4711 occurred", xid_advice(4711)),
    }
    assert len(unhealthy) == 2
