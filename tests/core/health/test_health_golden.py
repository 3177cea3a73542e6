"""The recorded health behaviour of the original, replayed through the state machine."""

from __future__ import annotations

from typing import Any

import pytest

from core.resources.asking import config_of, sharing_of
from core.resources.building import golden, recorded_node
from gpu_core.config.health import Health
from gpu_core.config.words import RecoveryMode
from gpu_core.devices.backend import DeviceEvent, EventKind, Probe, Watch, Watching
from gpu_core.devices.model import Fault, Inventory
from gpu_core.health.book import HealthBook, HealthRules
from gpu_core.health.xids import xid_policy
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.model import Device, Resource

CASES = golden("health.json")
PROBE_INTERVAL, QUIET = 1, 5

ALL_FOUR = [f"gpu0::{replica}" for replica in range(4)]
# What is right where the original is not: the unhealthy devices after each step, over all resources.
CORRECTED: dict[str, list[list[str]]] = {
    "health/replicas-ts4-one-gpu": [ALL_FOUR, ALL_FOUR, ALL_FOUR],
    "health/replicas-ts4-four-gpus": [[f"gpu2::{replica}" for replica in range(4)]],
    "health/mig-single-gi9": [["gpu0:mig2"]],
    "health/mig-mixed-1g-first": [["gpu0:mig2"]],
    "health/mig-mixed-parent": [["gpu0:mig0", "gpu0:mig1", "gpu0:mig2", "gpu0:mig3"]],
    "health/mig-mixed-gi-only": [["gpu0:mig1"]],
    "health/mig-legacy-uuid": [["gpu0:mig0"], ["gpu0:mig0", "gpu0:mig1"]],
    "health/mig-legacy-uuid-lookup-fails": [["gpu0:mig0"]],
    "health/mig-part-gpu-event": [["gpu1"], ["gpu0:mig0", "gpu0:mig1", "gpu0:mig2", "gpu1"]],
    # A GPU that could not be watched is unhealthy until it can be; one with an XID needs the driver's word.
    "health/uuid-lookup-fails-then-heals": [["gpu2"], []],
    "health/no-recovery": [["gpu1"], ["gpu1"], ["gpu1"]],
    "health/event-then-sighup": [["gpu1"], ["gpu1"]],
    # XIDs that are enabled count even where all others are off, and nothing else does.
    "health/env-disable-all-enable-79": [["gpu0"], ["gpu0"], ["gpu0"]],
    "health/env-disable-all-enable-13": [[], ["gpu1"], ["gpu1"]],
}


class Node:
    """A node that is run through a case, one command after the other."""

    def __init__(self, case: dict[str, Any]) -> None:
        environment = case["env"]
        policy, _ = xid_policy(
            Health(),
            disable=environment.get("DP_DISABLE_HEALTHCHECKS"),
            enable=environment.get("DP_ENABLE_HEALTHCHECKS"),
        )
        self.rules = HealthRules(
            xids=policy, recovery=RecoveryMode.DRIVER, quiet=QUIET, checks=not policy.checks_nothing
        )
        self.now = 0.0
        self.inventory = recorded_node(case["topology"])
        self.faults: dict[int, Fault] = {}
        self.resources = _resources(case, self.inventory)
        self.book, _ = HealthBook(rules=self.rules, started=self.now).after_inventory(self.inventory, self.now)
        for command in case.get("before_start", ()):
            self.run(command)
        self.watch_all()

    def watch_all(self) -> None:
        for gpu in self.inventory.gpus:
            watching = Watching(gpu=self.faults.get(gpu.index, Watch.WATCHED))
            self.book, _ = self.book.after_watch(gpu.uuid, watching, self.now)

    def run(self, command: str) -> None:
        match command.split():
            case ["event", number, *words]:
                event = self.event(int(number), dict(word.split("=") for word in words))
                if event is not None:
                    self.book, _ = self.book.after_event(event, self.now)
            case ["fail", "EventSetWait", "*", code, *_]:
                self.book, _ = self.book.after_unwatched(Fault(call="EventSetWait", code=code), self.now)
            case ["fail", call, number, code] if ":" not in number:
                self.faults[int(number)] = Fault(call=call, code=code)
            case ["fail", *_]:
                pass  # MIG devices are not looked up one by one.
            case ["heal", "*"]:
                self.faults.clear()
            case ["SIGHUP"]:
                self.book, _ = self.book.after_inventory(self.inventory, self.now)
                self.book, _ = self.book.after_rules(self.rules, self.now)
            case ["SLEEP", seconds]:
                for _ in range(int(seconds) // PROBE_INTERVAL):
                    self.pass_time()
            case ["WATCH"]:
                pass  # A stream that opens late sees what there is.
            case _:
                raise AssertionError(command)

    def event(self, number: int, words: dict[str, str]) -> DeviceEvent | None:
        kind = {"8": EventKind.XID, "2": EventKind.DOUBLE_BIT_ECC, "1": EventKind.SINGLE_BIT_ECC}.get(
            words.get("type", "8")
        )
        if kind is None:
            return None  # It is not asked for, so NVML does not tell.
        return DeviceEvent(
            kind=kind,
            gpu_uuid=self.inventory.gpus[number].uuid,
            data=int(words.get("xid", words.get("data", "0"))),
            gpu_instance=int(words["gi"]) if "gi" in words else None,
            compute_instance=int(words["ci"]) if "ci" in words else None,
        )

    def pass_time(self) -> None:
        self.now += PROBE_INTERVAL
        self.watch_all()
        for gpu in self.inventory.gpus:
            probe = Probe(fault=self.faults.get(gpu.index), recovery=None)
            self.book, _ = self.book.after_probe(gpu.uuid, probe, self.now)

    def unhealthy(self) -> dict[str, list[str]]:
        return {
            resource.name: sorted(
                _alias(d) for d in resource.devices if d.gpu is not None and not self.book.state(d.uuid).healthy
            )
            for resource in self.resources
        }


def _resources(case: dict[str, Any], inventory: Inventory) -> tuple[Resource, ...]:
    flags = dict(argument.removeprefix("--").split("=") for argument in case["args"])
    sharing = sharing_of(case.get("config"))
    return build_resources(inventory, config_of(mig=flags.get("mig-strategy", "none"), sharing=sharing))[0]


def _alias(device: Device) -> str:
    gpu, _, mig = device.index.partition(":")
    share = "" if device.replica is None else f"::{device.replica}"
    return f"gpu{gpu}" + (f":mig{mig}" if mig else "") + share


def _replayed(case: dict[str, Any]) -> list[dict[str, list[str]]]:
    node = Node(case)
    states = []
    for step in case["steps"]:
        for command in step:
            node.run(command)
        states.append(node.unhealthy())
    return states


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["id"] not in CORRECTED])
def test_the_same_devices_are_unhealthy_as_with_the_original(case: dict[str, Any]) -> None:
    assert "bug" not in case
    steps = case["expect"]["steps"]
    for state, step in zip(_replayed(case), steps, strict=True):
        recorded = {name: after["unhealthy"] for name, after in step["after"].items() if after["devices"] is not None}
        assert {name: state.get(name, []) for name in recorded} == recorded


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["id"] in CORRECTED])
def test_what_the_original_gets_wrong_is_right(case: dict[str, Any]) -> None:
    states = [sorted(device for devices in state.values() for device in devices) for state in _replayed(case)]
    assert states == CORRECTED[case["id"]]
