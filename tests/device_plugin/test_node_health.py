"""The book of health between threads: what is told of it, and in which order."""

from __future__ import annotations

import threading

from core.resources.building import LOST, node_of, whole_gpu
from core.resources.nursing import WATCHED, WELL, rules, xid
from device_plugin.metrics import HEALTH
from fakes.patience import PATIENCE
from gpu_core.devices.backend import Answer
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.runtime.counters import Counters

NODE = node_of(whole_gpu(0))


def test_what_happens_to_a_gpu_is_told_in_the_order_in_which_it_came_about() -> None:
    told: list[bool] = []
    held, go = threading.Event(), threading.Event()
    recovering = threading.Thread(
        target=lambda: health.answered(NODE.gpus[0], Answer(watching=WATCHED, probe=WELL)), name="recovering"
    )

    def changed() -> None:
        """Let the thread that has made the GPU healthy take its time to list it."""
        if threading.current_thread() is recovering:
            held.set()
            go.wait(PATIENCE)

    health = NodeHealth(
        rules(quiet=0),
        changed=changed,
        counters=Counters(),
        metrics=HEALTH,
        observers=[lambda transition, _: told.append(transition.healthy)],
    )
    health.inventory(NODE)
    health.blind(LOST)
    recovering.start()
    assert held.wait(PATIENCE)
    health.event(xid())
    go.set()
    recovering.join(PATIENCE)
    assert told == [False, True, False]
