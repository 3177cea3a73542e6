"""Causes first, what follows from them below, and what to fix first at the end."""

from __future__ import annotations

import json

import pytest

from device_plugin.doctor.examine import examine
from device_plugin.doctor.finding import Finding, Trouble, ok, problem, warning
from device_plugin.doctor.ranking import rank
from device_plugin.doctor.report import as_json, as_text
from fakes.broken_nodes import Break, failing, mig, nothing, unmounted
from fakes.node_root import CONTAINERD, KUBELET, NodeRoot
from gpu_core.command.terminal import Terminal


def wrong(name: str, trouble: Trouble | None = None, *follows: Trouble) -> Finding:
    return problem(name, f"{name} is wrong.", "It does not work.", f"Mend {name}.", trouble=trouble, follows=follows)


def ranked(*findings: Finding) -> list[list[str]]:
    return [[finding.examination for finding in group.findings] for group in rank(findings).wrong]


A, B, C = Trouble.NO_GPU, Trouble.NO_LIBRARY, Trouble.NO_KERNEL_DRIVER


def test_what_follows_stands_below_its_cause_even_when_it_was_seen_before() -> None:
    assert ranked(wrong("c", C, B), wrong("x"), wrong("a", A), wrong("b", B, A)) == [["x"], ["a", "c", "b"]]


def test_the_first_explanation_that_is_there_counts() -> None:
    assert ranked(wrong("a", A), wrong("b", B), wrong("c", C, B, A)) == [["a"], ["b", "c"]]


def test_without_its_cause_a_finding_is_one_itself() -> None:
    assert ranked(wrong("c", C, A, B)) == [["c"]]


def test_what_explains_itself_in_a_circle_is_said_as_if_nothing_did() -> None:
    assert ranked(wrong("a", A, B), wrong("b", B, A), wrong("c", C, A)) == [["a"], ["b"], ["c"]]


def test_a_warning_from_which_a_problem_follows_comes_before_other_warnings() -> None:
    alone, cause = warning("w", "w.", "m", "n"), warning("v", "v.", "m", "n", trouble=A)
    assert ranked(alone, cause, wrong("p", None, A)) == [["v", "p"], ["w"]]


def test_nothing_wrong_leaves_nothing_to_fix() -> None:
    fine = (ok("a", "fine."), ok("b", "fine."))
    assert (rank(fine).wrong, rank(fine).rest, rank(fine).first) == ((), fine, None)
    assert as_text(fine, Terminal()) == "ok        a: fine.\nok        b: fine.\n\n2 ok.\n"
    assert json.loads(as_json(fine))["fixFirst"] is None


FOLLOWING = """\
PROBLEM   a: a is wrong.
          It does not work.
          -> Mend a.
          From this follows:
          - b: b is wrong.
          - c: c is wrong.
ok        d: fine.

3 problems, 1 ok; 2 of them follow from another.

Fix this first: a: a is wrong. Mend a.
"""


def test_what_follows_is_said_without_advice_of_its_own() -> None:
    findings = (ok("d", "fine."), wrong("a", A), wrong("b", B, A), wrong("c", C, B))
    assert as_text(findings, Terminal()) == FOLLOWING
    follows = [finding["follows"] for finding in json.loads(as_json(findings))["findings"]]
    assert follows == [None, {"check": "a", "fact": "a is wrong."}, {"check": "a", "fact": "a is wrong."}, None]


def no_gpu(node: NodeRoot) -> None:
    unmounted(node)
    node.unplug()


def no_driver(node: NodeRoot) -> None:
    unmounted(node)


def no_driver_but_nouveau(node: NodeRoot) -> None:
    unmounted(node)
    node.unplug()
    node.plug("0000:07:00.0", driver="nouveau")


def nouveau(node: NodeRoot) -> None:
    failing("DRIVER_NOT_LOADED")(node)
    node.remove("proc/driver/nvidia/version", "dev/nvidiactl", "dev/nvidia-uvm")
    node.unplug()
    node.plug("0000:07:00.0", driver="nouveau")


def not_loaded(node: NodeRoot) -> None:
    failing("DRIVER_NOT_LOADED")(node)
    node.remove("proc/driver/nvidia/version", "dev/nvidiactl", "dev/nvidia-uvm")
    node.unplug()
    node.plug("0000:07:00.0", driver="")


def other_version(node: NodeRoot) -> None:
    failing("LIB_RM_VERSION_MISMATCH")(node)
    node.replace("proc/driver/nvidia/version", "550.90.07", "560.35.03")


def not_root(node: NodeRoot) -> None:
    failing("NO_PERMISSION")(node)
    node.put("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n")
    node.machine.forbidden.update({node.root / "dev", node.root / "var/lib/kubelet/device-plugins"})


def bare_container(node: NodeRoot) -> None:
    node.driver_missing = True
    node.remove("usr/lib/x86_64-linux-gnu", "dev/nvidiactl", "dev/nvidia-uvm")
    node.put(CONTAINERD, "version = 2\n")
    node.environ["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
    node.container = True


def lost_gpu(node: NodeRoot) -> None:
    node.node = "a100x8"
    for number in range(8):
        node.put(f"dev/nvidia{number}", "")
    node.happenings.append("fail DeviceGetHandleByIndex 3 GPU_IS_LOST")


def no_kubelet(node: NodeRoot) -> None:
    node.listen(KUBELET, stays=False)
    node.listen("var/lib/kubelet/pod-resources/kubelet.sock", stays=False)


CAUSES = [
    pytest.param(no_gpu, [("PCI bus", {"platform", "driver library", "driver versions", "device nodes"})], id="no GPU"),
    pytest.param(
        no_driver, [("driver library", {"platform", "driver versions", "device nodes"})], id="a GPU without a driver"
    ),
    pytest.param(
        no_driver_but_nouveau,
        [("driver library", {"PCI bus", "platform", "driver versions", "device nodes"})],
        id="a GPU that nouveau holds, since NVIDIA's driver is not installed",
    ),
    pytest.param(
        nouveau,
        [("PCI bus", {"platform", "driver versions", "driver", "device nodes"})],
        id="a GPU that nouveau holds beside NVIDIA's driver",
    ),
    pytest.param(
        not_loaded,
        [("driver versions", {"platform", "driver", "device nodes"})],
        id="a driver that is installed and not loaded",
    ),
    pytest.param(other_version, [("driver versions", {"platform", "driver"})], id="a driver that was updated in part"),
    pytest.param(
        not_root,
        [("permissions", {"platform", "driver", "device nodes", "plugin sockets"})],
        id="a user that is not root",
    ),
    pytest.param(
        bare_container,
        [("runtime", {"platform", "driver library", "device nodes"})],
        id="a container that the runtime gave no driver",
    ),
    pytest.param(lost_gpu, [("driver", {"resources"})], id="a GPU that fell off the bus"),
    pytest.param(no_kubelet, [("kubelet", {"pod resources"})], id="a kubelet that has ended"),
    pytest.param(mig(nothing, node_file="a100-mig-empty"), [("MIG", {"resources"})], id="MIG without MIG devices"),
    pytest.param(mig(nothing, strategy="none"), [("MIG", {"resources"})], id="MIG devices that are not served"),
    pytest.param(
        mig(nothing, node_file="a100-mig-empty", strategy="none"),
        [("MIG", {"resources"})],
        id="MIG without MIG devices, served whole",
    ),
]


@pytest.mark.parametrize(("break_", "expected"), CAUSES)
def test_one_cause_is_one_thing_to_fix(node: NodeRoot, break_: Break, expected: list[tuple[str, set[str]]]) -> None:
    break_(node)
    groups = rank(examine(node.scene())).wrong
    assert [
        (group.cause.examination, {finding.examination for finding in group.followers}) for group in groups
    ] == expected


@pytest.mark.parametrize("advice", ["nstall the driver", "modprobe"])
def test_no_driver_is_advised_where_there_is_no_gpu(node: NodeRoot, advice: str) -> None:
    no_gpu(node)
    findings = [finding for finding in examine(node.scene()) if finding.examination.startswith("driver")]
    assert findings
    assert [finding for finding in findings if advice in finding.fact + finding.next_step] == []
    assert advice not in as_text(examine(node.scene()), Terminal())
