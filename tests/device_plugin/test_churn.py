"""Kubelets that come and go in every way, for as long as it takes: the plugin ends up registered once.

KUBELET_RESTARTS says how many restarts there are; `make fuzz` asks for a thousand.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

from device_plugin.metrics import REGISTERED
from device_plugin.plugin_api.phases import Patience
from fakes.running_plugin import RunningPlugin, run_plugin
from gpu_core.runtime.pause import Pause
from gpu_demo.kubelet import Behaviour, Event, Kubelet, Listed, Registers, Started

GPU = "nvidia.com/gpu"
RESTARTS = int(os.environ.get("KUBELET_RESTARTS", "60"))
SOON = Pause(first=0.02, longest=0.1)


def killed(kubelet: Kubelet) -> None:
    """Leave the socket behind, as a kubelet that was killed."""
    kubelet.stop(leave_socket=True)
    kubelet.start()


def twice(kubelet: Kubelet) -> None:
    """Restart twice without a pause."""
    kubelet.restart()
    kubelet.restart()


def moody(registers: Registers, *, opens_stream: bool = True) -> Callable[[Kubelet], None]:
    """Have a kubelet between two that treats plugins otherwise."""

    def restart(kubelet: Kubelet) -> None:
        kubelet.behaviour = Behaviour(registers=registers, opens_stream=opens_stream)
        kubelet.restart()
        kubelet.behaviour = Behaviour()
        kubelet.restart()

    return restart


def without_its_directory(kubelet: Kubelet) -> None:
    """Remove every socket while no kubelet runs."""
    kubelet.stop()
    for path in kubelet.directory.glob("*.sock"):
        path.unlink()
    kubelet.start()


WAYS: tuple[Callable[[Kubelet], None], ...] = (
    Kubelet.restart,
    killed,
    twice,
    without_its_directory,
    moody(Registers.REFUSED),
    moody(Registers.FORGOTTEN),
    moody(Registers.SERVED_LATER),
    moody(Registers.SERVED, opens_stream=False),
)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def listed_to_the_last(events: tuple[Event, ...]) -> Listed | None:
    """Give a list that the kubelet has which was started last; one before it may have had some as well."""
    start = max(number for number, event in enumerate(events) if isinstance(event, Started))
    return next((event for event in events[start:] if isinstance(event, Listed)), None)


def is_served(kubelet: Kubelet, plugin: RunningPlugin) -> None:
    kubelet.log.wait_until(listed_to_the_last, "a list for the kubelet that runs")
    plugin.wait_number(REGISTERED, 1)
    assert kubelet.resources() == (GPU,)
    grant = kubelet.admit(GPU, 2)
    kubelet.release(grant)


def test_the_plugin_outlives_every_kubelet(kubelet: Kubelet) -> None:
    chance = random.Random(4)
    # With as much patience as ever for a kubelet that accepts: registered again, it begins with an empty list.
    patience = Patience(look=0.2, lost=Pause(first=0.1, longest=0.1), settle=0.05, closed=SOON, refused=SOON)
    with run_plugin(kubelet, "a100x4-pcie", patience=patience) as plugin:
        is_served(kubelet, plugin)
        threads, open_files = threading.active_count(), descriptors()
        for _ in range(RESTARTS):
            chance.choice(WAYS)(kubelet)
            # Half of them do not wait until the plugin has noticed.
            if chance.random() < 0.5:
                is_served(kubelet, plugin)
        kubelet.restart()
        is_served(kubelet, plugin)
        assert [path.name for path in plugin.directory.glob("*nvidia*")] == ["nvidia-gpu.sock"]
        # The pools of gRPC grow to their size once; nothing grows with the number of restarts.
        assert threading.active_count() <= threads + 8
        assert descriptors() <= open_files + 16
