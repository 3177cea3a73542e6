"""What the steps of the demo work with, and what they have in common: to wait, to let things happen, to show."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gpu_demo.kubelet import Event, Kubelet, Listed, ListedDevice
from gpu_demo.node_facts import NodeFacts
from gpu_demo.programs import DemoError, Programs, Running
from gpu_demo.screen import Screen

RESOURCE = "nvidia.com/gpu"
# Of a machine that does much else.
PATIENCE = 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What every step works with.

    `directory` is empty and goes away with everything in it afterwards. `gpus` is how many a container asks for, None
    for a few of those that there are.
    """

    screen: Screen
    programs: Programs
    directory: Path
    node: str
    facts: NodeFacts
    gpus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What is there once the plugin runs: `events` holds what happens to the GPUs."""

    screen: Screen
    kubelet: Kubelet
    plugin: Running
    events: Path
    facts: NodeFacts

    def name(self, device: str) -> str:
        """Return how people call the GPU of a device."""
        return self.facts.names.get(device, "-")

    def happen(self, *lines: str) -> None:
        """Make something happen to the simulated node."""
        with self.events.open("a", encoding="utf-8") as file:
            for line in lines:
                self.screen.command(f"echo '{line}' >> {self.events.name}")
                file.write(f"{line}\n")

    def wait_for_list(self, what: str, *, unhealthy: set[str]) -> Listed:
        """Wait until the kubelet's latest list has exactly these devices as unhealthy ones."""

        def latest(events: tuple[Event, ...]) -> Listed | None:
            listed = next((event for event in reversed(events) if isinstance(event, Listed)), None)
            found = {device.id for device in listed.devices if not device.healthy} if listed else None
            return listed if found == unhealthy else None

        wanted = f"a list with {', '.join(sorted(unhealthy)) or 'nothing'} unhealthy"
        with self.screen.waiting(what):
            return self.expect(lambda wait: self.kubelet.log.wait_until(latest, wanted, timeout=wait))

    def expect(self, wait: Callable[[float], T]) -> T:
        """Wait for something, but no longer than the plugin lives; raises DemoError with the plugin's last words.

        `wait` raises TimeoutError when it has not come in so many seconds.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return wait(0.25)
            except TimeoutError as error:
                self.plugin.check()
                if time.monotonic() > deadline:
                    raise DemoError(f"{error}\nThe plugin said last:\n{self.plugin.log_tail()}") from error

    def show_devices(self, listed: Listed) -> None:
        """Show a list as the kubelet has it, and how many of its devices may be given to containers."""
        rows = [(self.name(device.id), device.id, device.health, _numa(device)) for device in listed.devices]
        self.screen.table(("GPU", "device", "health", "NUMA node"), rows)
        healthy = sum(device.healthy for device in listed.devices)
        self.screen.say(f"The kubelet counts {healthy} of {len(listed.devices)} {RESOURCE} as allocatable.")


def _numa(device: ListedDevice) -> str:
    return ", ".join(str(node) for node in device.numa_nodes) or "-"
