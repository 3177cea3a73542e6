"""What the original was recorded to register, list and answer, for every kind of node and strategy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.plugin_answers import allocation, golden, in_any_order, listed, options, recorded, registrations
from fakes.running_plugin import RunningPlugin, run_plugin, topology
from gpu_core.errors import SuiteError
from gpu_core.hardware.source import simulated_source
from gpu_demo.kubelet import Kubelet, Listed

# These are about the files of a driver, or about its absence; a simulated node has neither.
ABOUT_FILES = {
    "cdi/no-driver-root",
    "nvml/no-library",
    "nvml/no-library-cdi",
    "nvml/library-in-driver-root-only",
    "nvml/library-in-other-root",
}
# Where the original ends and ours serves, as the notes with the recordings ask for.
SERVED_BY_US = {
    "plugin/a100-mig-ci/mixed/none": {"nvidia.com/mig-2g.10gb": 1, "nvidia.com/mig-3g.20gb": 3},
    "plugin/a100-mig-nominors/mixed/none": {"nvidia.com/mig-3g.20gb": 2},
}
CASES = [case for name in ("plugin-matrix", "plugin-strategies") for case in golden(name)]
ORDINARY = [case for case in CASES if case["id"] not in ABOUT_FILES and case["id"] not in SERVED_BY_US]
CONTROL_ROOT = "/dev/"


def params(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.fixture(autouse=True)
def mps_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Have an MPS control program that answers, except where there was none."""
    if "no-daemon" not in request.node.name:
        program = tmp_path / "nvidia-cuda-mps-control"
        program.write_text("#!/bin/sh\ncat >/dev/null\necho 100.0\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def start(kubelet: Kubelet, case: dict[str, Any]) -> Any:
    source = simulated_source(topology(case["topology"]), kubelet.directory.parent / "k.d" / "events")
    if "control_devices" in case:
        there = {CONTROL_ROOT + name for name in case["control_devices"]}
        source = replace(source, exists=there.__contains__)
    return run_plugin(
        kubelet,
        source,
        *case["args"],
        config=case.get("config"),
        # Nothing becomes unhealthy here, and what is not watched stops at once.
        environ={"DP_DISABLE_HEALTHCHECKS": "all"},
        before=case.get("stub_commands", ()),
    )


@pytest.mark.parametrize("case", params([case for case in ORDINARY if case["expect"]["registers"]]))
def test_the_kubelet_hears_what_it_heard_from_the_original(kubelet: Kubelet, case: dict[str, Any]) -> None:
    expected = case["expect"]
    with start(kubelet, case):
        for resource in expected["resources"]:
            kubelet.log.wait_for(Listed, resource=resource)
        assert registrations(kubelet) == expected["registers"]
        assert {
            resource: {"options": options(kubelet.options(resource)), "devices": listed(kubelet.devices(resource))}
            for resource in kubelet.resources()
        } == expected["resources"]
        for asked in expected["allocate"]:
            answer = allocation(kubelet, asked["resource"], asked["containers"])
            if "answer" in asked:
                assert (asked["name"], answer) == (asked["name"], recorded(asked["answer"]))
            else:
                wanted = in_any_order(recorded(asked["answer_any_order"]))
                assert (asked["name"], in_any_order(answer)) == (asked["name"], wanted)


@pytest.mark.parametrize("case", params([case for case in ORDINARY if case["expect"].get("rc") == 1]))
def test_what_ended_the_original_ends_ours_with_one_message(kubelet: Kubelet, case: dict[str, Any]) -> None:
    with pytest.raises(SuiteError) as raised, start(kubelet, case):
        pass
    assert raised.value.exit_code == 1
    assert registrations(kubelet) == []


@pytest.mark.parametrize("case", params([case for case in CASES if case["id"] in SERVED_BY_US]))
def test_nodes_that_ended_the_original_are_served(kubelet: Kubelet, case: dict[str, Any]) -> None:
    expected = SERVED_BY_US[case["id"]]
    with start(kubelet, case):
        for resource in expected:
            kubelet.log.wait_for(Listed, resource=resource)
        assert {resource: len(kubelet.devices(resource)) for resource in kubelet.resources()} == expected


WAITED_FOR = {
    "nvml/init-not-loaded-nofail": "DRIVER_NOT_LOADED",
    "plugin/t4x1/none/mps-no-daemon": "Waiting for the MPS control daemon",
}


@pytest.mark.parametrize("case", params([case for case in ORDINARY if case["id"] in WAITED_FOR]))
def test_what_the_original_waited_for_is_waited_for(kubelet: Kubelet, case: dict[str, Any]) -> None:
    plugin: RunningPlugin
    with start(kubelet, case) as plugin:
        plugin.log.wait_for(WAITED_FOR[case["id"]])
        assert registrations(kubelet) == []
