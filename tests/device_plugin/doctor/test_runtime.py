"""Container runtimes and CDI that are broken in one way each: the doctor names it."""

from __future__ import annotations

import pytest

from device_plugin.doctor.examine import examine
from device_plugin.doctor.finding import Level
from fakes.broken_nodes import Break, assert_named, cdi
from fakes.node_root import CONTAINERD, NodeRoot, cdi_file


def drop_in_without_handler(node: NodeRoot) -> None:
    node.remove(CONTAINERD)
    node.put("etc/crio/crio.conf", '[crio.runtime]\ndefault_runtime = "crun"\n[crio.runtime.runtimes.crun]\n')


def no_place_for_cdi(node: NodeRoot) -> None:
    node.remove("var/run/cdi")
    node.machine.forbidden.add(node.root / "var/run")


def twice_described(node: NodeRoot) -> None:
    for name in ("a", "b"):
        node.put(f"var/run/cdi/{name}.json", cdi_file("nvidia.com/gpu"))


BROKEN = [
    pytest.param(
        lambda node: node.remove(CONTAINERD),
        "runtime",
        Level.PROBLEM,
        "no configuration",
        id="no runtime configuration",
    ),
    pytest.param(
        lambda node: node.put(CONTAINERD, "version = 2\n"),
        "runtime",
        Level.PROBLEM,
        "has no handler for NVIDIA's runtime",
        id="containerd without the handler",
    ),
    pytest.param(drop_in_without_handler, "runtime", Level.PROBLEM, "(there are crun)", id="CRI-O without the handler"),
    pytest.param(
        lambda node: node.remove("usr/bin/nvidia-container-runtime"),
        "runtime",
        Level.PROBLEM,
        "/usr/bin/nvidia-container-runtime, which is not there",
        id="a handler without its program",
    ),
    pytest.param(
        lambda node: node.put(CONTAINERD, "version = [\n"),
        "runtime",
        Level.PROBLEM,
        "cannot be read",
        id="a broken runtime configuration",
    ),
    pytest.param(
        cdi(lambda node: node.replace(CONTAINERD, "enable_cdi = true", "enable_cdi = false")),
        "runtime and CDI",
        Level.PROBLEM,
        "CDI is turned off",
        id="a runtime that does not read CDI",
    ),
    pytest.param(
        cdi(lambda node: node.replace(CONTAINERD, "enable_cdi = true\n", "")),
        "runtime and CDI",
        Level.WARNING,
        "does not say whether",
        id="a runtime that may not read CDI",
    ),
    pytest.param(
        cdi(lambda node: node.replace(CONTAINERD, "= true", '= true\ncdi_spec_dirs = ["/etc/cdi"]')),
        "runtime and CDI",
        Level.PROBLEM,
        "from /etc/cdi only",
        id="a runtime that reads CDI elsewhere",
    ),
    pytest.param(
        cdi(lambda node: node.machine.forbidden.add(node.root / "var/run/cdi")),
        "CDI",
        Level.PROBLEM,
        "may not be written to",
        id="a CDI directory that is closed to us",
    ),
    pytest.param(
        cdi(no_place_for_cdi),
        "CDI",
        Level.PROBLEM,
        "cannot be made",
        id="a CDI directory that cannot be made",
    ),
    pytest.param(
        cdi(lambda node: node.put("var/run/cdi/other.json", "{")),
        "CDI",
        Level.PROBLEM,
        "other.json in /var/run/cdi is no CDI specification",
        id="a broken specification",
    ),
    pytest.param(
        cdi(twice_described),
        "CDI",
        Level.WARNING,
        "2 files in /var/run/cdi describe nvidia.com/gpu",
        id="two specifications of one kind",
    ),
    pytest.param(
        cdi(lambda node: node.remove("usr/bin/nvidia-ctk")),
        "CDI",
        Level.PROBLEM,
        "/usr/bin/nvidia-ctk is not on the host",
        id="hooks without their tool",
    ),
]


@pytest.mark.parametrize(("break_", "examination", "level", "part"), BROKEN)
def test_each_breakage_is_named(node: NodeRoot, break_: Break, examination: str, level: Level, part: str) -> None:
    break_(node)
    assert_named(node, examination, level, part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param(
            'version = 3\n[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]\n',
            "the default is runc",
            id="containerd 2 with a handler that pods ask for",
        ),
        pytest.param(
            'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n',
            "by default (handler nvidia)",
            id="a handler in an imported file",
        ),
    ],
)
def test_handlers_are_found_where_they_may_be(node: NodeRoot, text: str, part: str) -> None:
    node.put("etc/containerd/conf.d/99-nvidia.toml", (node.root / CONTAINERD).read_text("utf-8"))
    node.put(CONTAINERD, text)
    (found,) = [finding for finding in examine(node.scene()) if finding.examination == "runtime"]
    assert (found.level, part in found.fact) == (Level.OK, True)


def test_crio_parts_are_read_in_order(node: NodeRoot) -> None:
    node.remove(CONTAINERD)
    handler = '[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\n'
    node.put("etc/crio/crio.conf.d/10-a.conf", '[crio.runtime]\ndefault_runtime = "crun"\n')
    node.put("etc/crio/crio.conf.d/99-nvidia.conf", f'{handler}[crio.runtime]\ndefault_runtime = "nvidia"\n')
    (found,) = [finding for finding in examine(node.scene()) if finding.examination == "runtime"]
    assert found.fact == "crio runs NVIDIA's runtime by default (handler nvidia)."
