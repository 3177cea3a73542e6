"""Configs, sockets, rights and MPS that are broken in one way each: the doctor names it."""

from __future__ import annotations

import pytest

from device_plugin.doctor.finding import Level
from fakes.broken_nodes import Break, assert_named, mig, mps, nothing
from fakes.node_root import KUBELET, PODS, NodeRoot
from gpu_core.errors import ProcessError
from gpu_core.runtime.process import Completed


def set_error(error: str) -> Break:
    def broken(node: NodeRoot) -> None:
        node.machine.answer = ProcessError(error)

    return broken


BROKEN = [
    pytest.param(
        mig(nothing, strategy="single"),
        "resources",
        Level.PROBLEM,
        "single",
        id="the single strategy on a node whose MIG devices differ",
    ),
    pytest.param(
        lambda node: node.config("devices: {exclude: ['0']}\n"),
        "resources",
        Level.PROBLEM,
        "nothing would be served",
        id="the config excludes every GPU",
    ),
    pytest.param(
        lambda node: node.config("devices: {exclude: ['*a100*']}\n"),
        "resources",
        Level.WARNING,
        "No GPU matches what it names (exclude: '*a100*')",
        id="the config excludes GPUs that this node does not have",
    ),
    pytest.param(
        lambda node: node.config("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 70000}]}}\n"),
        "resources",
        Level.PROBLEM,
        "can be shared in at most",
        id="more shares than the kubelet takes in one list",
    ),
    pytest.param(
        lambda node: node.config("version: v7\n"), "config", Level.PROBLEM, "v7", id="a config that cannot be used"
    ),
    pytest.param(
        lambda node: node.config("version: v1\nflag: {}\n"), "config", Level.WARNING, "flag", id="a key that is no key"
    ),
    pytest.param(
        lambda node: node.remove("var/lib/kubelet/device-plugins"),
        "kubelet",
        Level.PROBLEM,
        "is no directory",
        id="no device plugin directory",
    ),
    pytest.param(lambda node: node.remove(KUBELET), "kubelet", Level.PROBLEM, "is not there", id="no kubelet"),
    pytest.param(
        lambda node: node.listen(KUBELET, stays=False),
        "kubelet",
        Level.PROBLEM,
        "Nobody accepts connections",
        id="a kubelet that was killed",
    ),
    pytest.param(
        lambda node: node.machine.forbidden.add(node.root / "var/lib/kubelet/device-plugins"),
        "plugin sockets",
        Level.PROBLEM,
        "may not be written to",
        id="a directory of sockets that is closed to us",
    ),
    pytest.param(
        lambda node: node.listen("var/lib/kubelet/device-plugins/nvidia-gpu.sock", stays=False),
        "plugin sockets",
        Level.WARNING,
        "Nobody serves nvidia-gpu.sock",
        id="a socket left by a plugin that was killed",
    ),
    pytest.param(
        lambda node: node.listen(PODS, stays=False),
        "pod resources",
        Level.WARNING,
        "Nobody accepts connections",
        id="a pod resources socket left behind",
    ),
    pytest.param(
        lambda node: node.put("proc/self/status", "Uid:\t1000\nCapEff:\t0\n"),
        "permissions",
        Level.WARNING,
        "runs as user 1000",
        id="not root",
    ),
    pytest.param(
        mig(lambda node: node.put("proc/self/status", "Uid:\t0\nCapEff:\t00000000a80425fb\n")),
        "permissions",
        Level.WARNING,
        "SYS_ADMIN is missing",
        id="MIG without SYS_ADMIN",
    ),
    pytest.param(
        lambda node: node.config("sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"),
        "config",
        Level.PROBLEM,
        "set --mps-root",
        id="MPS without its root",
    ),
    pytest.param(
        mps(lambda node: node.remove("mps")), "MPS", Level.PROBLEM, "/mps is not there", id="MPS root not mounted"
    ),
    pytest.param(
        mps(lambda node: node.remove("mps/.ready")), "MPS", Level.WARNING, ".ready is not there", id="MPS is not ready"
    ),
    pytest.param(
        mps(set_error("nvidia-cuda-mps-control was not found on PATH.")),
        "MPS",
        Level.PROBLEM,
        "was not found on PATH",
        id="MPS without its program",
    ),
    pytest.param(
        mps(
            lambda node: setattr(
                node.machine,
                "answer",
                Completed(returncode=1, stdout="", stderr="Cannot find MPS control daemon process\n"),
            )
        ),
        "MPS",
        Level.PROBLEM,
        "Cannot find MPS control daemon",
        id="MPS daemon not running",
    ),
    pytest.param(
        lambda node: node.args.append("--node-events"),
        "cluster reports",
        Level.WARNING,
        "no name",
        id="Events, no name",
    ),
    pytest.param(
        lambda node: node.args.extend(["--node-condition=GPUHealthy", "--node-name=a"]),
        "cluster reports",
        Level.WARNING,
        "no service account",
        id="a condition without a service account",
    ),
]


@pytest.mark.parametrize(("break_", "examination", "level", "part"), BROKEN)
def test_each_breakage_is_named(node: NodeRoot, break_: Break, examination: str, level: Level, part: str) -> None:
    break_(node)
    assert_named(node, examination, level, part)
