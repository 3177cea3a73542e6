"""Nodes in good order: the doctor has nothing to complain of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from device_plugin.doctor.examine import examine
from device_plugin.doctor.finding import Level, worst
from fakes.broken_nodes import Break, cdi, mig, mps, not_ok, nothing, unmounted
from fakes.node_root import NodeRoot
from gpu_core.errors import NvmlCallError


def test_a_node_in_good_order_has_nothing_wrong(node: NodeRoot) -> None:
    findings = examine(node.scene())
    assert not_ok(findings) == []
    assert {finding.examination for finding in findings} >= {
        "config",
        "PCI bus",
        "platform",
        "driver library",
        "driver versions",
        "driver",
        "device nodes",
        "MIG",
        "resources",
        "permissions",
        "kubelet",
        "plugin sockets",
        "pod resources",
        "runtime",
        "CDI",
        "MPS",
    }


@pytest.mark.parametrize("arrange", [mig(nothing), mps(nothing), cdi(nothing)])
def test_other_ways_of_serving_in_good_order_have_nothing_wrong(node: NodeRoot, arrange: Break) -> None:
    arrange(node)
    assert not_ok(examine(node.scene())) == []


def test_in_a_container_without_the_hosts_files_that_is_skipped_and_no_problem(node: NodeRoot) -> None:
    node.host = None
    node.args.append("--device-list-strategy=cdi-cri,envvar")
    findings = examine(node.scene())
    assert worst(findings) is Level.OK
    assert sorted(finding.examination for finding in findings if finding.level is Level.SKIPPED) == ["CDI", "runtime"]


def test_a_simulated_node_needs_no_driver(node: NodeRoot) -> None:
    unmounted(node)
    node.driver_missing = False
    node.args.append("--simulated-node=t4")
    assert worst(examine(node.scene())) is Level.OK


def test_a_plugin_that_serves_is_seen(node: NodeRoot) -> None:
    node.listen("var/lib/kubelet/device-plugins/nvidia-gpu.sock")
    (found,) = [finding for finding in examine(node.scene()) if finding.examination == "plugin sockets"]
    assert (found.level, found.fact) == (Level.OK, "A plugin serves nvidia-gpu.sock.")


def test_what_cannot_be_told_is_skipped(node: NodeRoot) -> None:
    node.remove("proc/self/status")
    node.args += ["--kubelet-socket=", "--node-events", "--node-name=a", "--kubeconfig=/etc/kubeconfig"]
    findings = examine(node.scene())
    assert {finding.examination for finding in findings if finding.level is Level.SKIPPED} == {"permissions", "kubelet"}
    assert "The cluster can be told of the node a." in [finding.fact for finding in findings]


def test_mps_cannot_be_asked_while_the_driver_does_not_answer(node: NodeRoot) -> None:
    mps(nothing)(node)
    node.error = NvmlCallError("nvmlInit failed with UNKNOWN.", call="Init", code="UNKNOWN")
    assert [
        finding.examination for finding in examine(node.scene()) if finding.examination in ("MPS", "resources", "MIG")
    ] == []


def test_a_given_discovery_strategy_is_a_fact(node: NodeRoot) -> None:
    node.args.append("--device-discovery-strategy=nvml")
    (found,) = [finding for finding in examine(node.scene()) if finding.examination == "platform"]
    assert found.fact.endswith("NVML answers, --device-discovery-strategy=nvml was given.")


def test_access_nodes_that_nobody_names_are_a_problem(node: NodeRoot) -> None:
    mig(nothing)(node)
    scene = node.scene()
    assert scene.driver.inventory is not None
    inventory = replace(scene.driver.inventory, mig_minors_known=False)
    findings = examine(replace(scene, driver=replace(scene.driver, inventory=inventory)))
    assert not_ok(findings) == ["problem MIG: /proc/driver/nvidia-caps/mig-minors is not there."]
