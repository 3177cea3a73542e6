"""Nodes in good order: the doctor has nothing to complain of."""

from __future__ import annotations

import pytest

from device_plugin.doctor.examine import examine
from device_plugin.doctor.finding import Level, worst
from fakes.broken_nodes import Break, cdi, mig, mps, not_ok, nothing, unmounted
from fakes.node_root import NodeRoot


def test_a_node_in_good_order_has_nothing_wrong(node: NodeRoot) -> None:
    findings = examine(node.scene())
    assert not_ok(findings) == []
    assert {finding.check for finding in findings} >= {
        "config",
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
    assert sorted(finding.check for finding in findings if finding.level is Level.SKIPPED) == ["CDI", "runtime"]


def test_a_simulated_node_needs_no_driver(node: NodeRoot) -> None:
    unmounted(node)
    node.driver_missing = False
    node.args.append("--simulated-node=t4")
    assert worst(examine(node.scene())) is Level.OK
