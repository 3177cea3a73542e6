"""Random histories of a node, its API server and its files: in the end everything is in step, however it went.

The suite runs some of them; with CONFIG_MANAGER_SCHEDULES=200 it runs more. A failure names its seed.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest

from fakes.api_faults import Delay, Drop, Fault, Garbage, HalfAnswer, Hold, Refuse, WatchEnd
from fakes.managed_node import Node

SCHEDULES = int(os.environ.get("CONFIG_MANAGER_SCHEDULES", "16"))

STEPS = 14
NAMES = ("a", "b", "c")


class Schedule:
    """One history. Every content is its own, except that `twin` always holds what `a` holds."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.chance = random.Random(seed)
        self.version = 0
        self.files: dict[str, str] = {}
        self.write(*NAMES)
        self.node = Node(directory, self.files, default_config="b", patience=0.5)
        self.label: str | None = "a"
        self.exists = False
        self.running = False
        self.updated: list[float] = []

    def write(self, *names: str) -> None:
        for name in names:
            self.version += 1
            self.files[name] = f"version: v1 # {name} {self.version}\n"
        self.files["twin"] = self.files.get("a", "version: v1 # twin\n")

    def update(self) -> None:
        self.updated.append(time.monotonic())
        self.node.volume.update(self.files)
        self.updated.append(time.monotonic())

    def fault(self) -> Fault:
        faults: list[Fault] = [
            Refuse(401, "Unauthorized"),
            Refuse(403, "Forbidden"),
            Refuse(410, "Expired"),
            Refuse(429, "TooManyRequests"),
            Refuse(500),
            Refuse(503),
            Delay(0.03),
            Drop(),
            HalfAnswer(),
            Garbage(),
        ]
        return self.chance.choice(faults)

    def set_label(self, value: str | None) -> None:
        self.label = value
        self.exists = True
        self.node.label(value)

    def step(self) -> None:
        match self.chance.randrange(12):
            case 0 | 1 | 2:
                self.set_label(self.chance.choice([*NAMES, "twin", "missing", None]))
            case 3 if self.exists:
                self.exists = False
                self.node.server.delete_node("a")
            case 4 | 5:
                self.write(self.chance.choice(NAMES))
                self.update()
            case 6:
                self.files.pop(self.chance.choice(NAMES), None)
                self.update()
            case 7:
                self.files[self.chance.choice(NAMES)] = "flags: [broken\n"
                self.update()
            case 8:
                self.node.server.misbehave(self.fault(), watch=self.chance.choice([True, False, None]))
            case 9:
                self.node.server.end_watches(self.chance.choice(list(WatchEnd)))
            case 10:
                self.chance.choice([self.node.server.send_bookmarks, self.node.server.store.forget_history])()
            case 11:
                self.chance.choice([self.node.server.restart, self.restart_program])()

    def restart_program(self) -> None:
        if self.running:
            self.node.program.end()
        else:
            self.node.program.start()
        self.running = not self.running

    def run(self) -> None:
        node = self.node
        gate = threading.Event()
        first = self.chance.choice([Hold(gate), Delay(0.02), Drop(), Refuse(500), None])
        if first is not None:
            node.server.misbehave(first, watch=False)
        if self.chance.random() < 0.8:
            self.set_label(self.label)
        if self.chance.random() < 0.8:
            self.restart_program()
        node.start()
        for _ in range(STEPS):
            self.step()
            if self.chance.random() < 0.7:
                time.sleep(self.chance.random() * 0.04)  # the schedule's own pace, not a wait for something
            if self.chance.random() < 0.3:
                gate.set()
        gate.set()
        node.server.behave()
        # What the history has asked for last may be what is asked for in the end, and other wishes still to be heard.
        self.set_label("over")
        node.server.wait_for(lambda: self.heard() == "over")
        # All ends well: the server behaves, the program runs, and the label names a good file or none.
        self.write(*NAMES)
        self.update()
        self.set_label(self.chance.choice([*NAMES, "twin", None]))
        if not self.running:
            self.restart_program()

    def heard(self) -> str | None:
        """Return the label that was read last; `nothing` before."""
        read = [facts for event, facts in self.node.log.entries if event == "the node was read"]
        value: str | None = read[-1]["value"] if read else "nothing"
        return value

    def in_step(self) -> bool:
        name = self.label or "b"
        node = self.node
        if self.heard() != self.label:
            return False
        return node.target() == name and node.content() == node.program.config == self.files[name]


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_any_schedule_ends_in_step_with_at_most_one_signal_per_change(seed: int, tmp_path: Path) -> None:
    schedule = Schedule(seed, tmp_path)
    node = schedule.node
    schedule.run()
    try:
        node.server.wait_for(schedule.in_step)
    finally:
        node.stop()
        node.close()
        history = f"{schedule.files=} {schedule.label=}\n{node.program.signals=}\n" + "\n".join(node.log.lines)
        print(history)  # noqa: T201  shown by pytest when the test fails
    assert schedule.in_step()
    looked = 0.0
    for (before, old), (after, new) in zip(node.program.signals, node.program.signals[1:], strict=False):
        # A file may change between the look that owes a signal, after the signal before, and the program's reading.
        raced = any(looked < moment <= before for moment in schedule.updated)
        assert old != new or raced, f"signalled twice for the same content within {after - before} s"
        looked = before
    assert len(node.program.signals) <= STEPS + 2
