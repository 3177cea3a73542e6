"""Ways of breaking a node that several tests of the doctor use, and what it has to say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from device_plugin.doctor.examine import examine
from device_plugin.doctor.finding import Finding, Level
from fakes.node_root import NODES, NodeRoot
from gpu_core.errors import NvmlCallError

Break = Callable[[NodeRoot], object]

MPS = "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"


def assert_named(node: NodeRoot, examination: str, level: Level, part: str) -> None:
    """Assert that the doctor finds it, says what it means and what to do."""
    findings = examine(node.scene())
    found = [one for one in findings if one.examination == examination and one.level is level and part in one.fact]
    assert found, "\n".join(described(findings))
    assert all(finding.meaning and finding.next_step for finding in found)


def described(findings: Iterable[Finding]) -> list[str]:
    return [f"{finding.level} {finding.examination}: {finding.fact}" for finding in findings]


def not_ok(findings: Iterable[Finding]) -> list[str]:
    return described(finding for finding in findings if finding.level is not Level.OK)


def nothing(_: NodeRoot) -> None:
    """Leave a node as it is."""


def failing(code: str) -> Break:
    """Make the driver refuse to start."""

    def break_(node: NodeRoot) -> None:
        node.error = NvmlCallError(f"nvmlInit failed with {code}.", call="Init", code=code)

    return break_


def cdi(break_: Break) -> Break:
    """Break a node whose containers get their devices through CDI."""

    def broken(node: NodeRoot) -> None:
        node.args.append("--device-list-strategy=cdi-cri")
        break_(node)

    return broken


def mps(break_: Break) -> Break:
    """Break a node that shares its GPU through MPS."""

    def broken(node: NodeRoot) -> None:
        node.config(MPS)
        node.put("mps/.ready", "")
        node.args.append("--mps-root=/run/nvidia/mps")
        break_(node)

    return broken


def mig(break_: Break, *, node_file: str = "a100-mig-mixed", strategy: str = "mixed") -> Break:
    """Break a node with MIG devices."""

    def broken(node: NodeRoot) -> None:
        node.node = node_file
        node.args.append(f"--mig-strategy={strategy}")
        for number in range(300):
            node.put(f"dev/nvidia-caps/nvidia-cap{number}", "")
        break_(node)

    return broken


def unmounted(node: NodeRoot) -> None:
    node.driver_missing = True
    node.remove("usr/lib/x86_64-linux-gnu", "proc/driver/nvidia/version", *(f"dev/{name}" for name in NODES))
