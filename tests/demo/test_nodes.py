"""The demo comes to a good end on every simulated node, whatever a container asks for."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from fakes.demo_programs import HostedPrograms
from gpu_core.devices.simulated.files import load_node, node_names
from gpu_demo import story
from gpu_demo.node_facts import NodeFacts, node_facts
from gpu_demo.screen import Screen
from gpu_demo.stage import Demo

# Nobody looks at it, so a GPU that was reset need not be watched for a second before it is trusted again.
QUICK = """\
version: v1
health:
  probeInterval: 20ms
  recoveryQuietTime: 20ms
"""
WITHOUT_FAULTS = {"jetson", "wsl"}


def told(directory: Path, node: str, gpus: int | None) -> str:
    """Tell the story of a node and return what was shown."""
    shown = io.StringIO()
    facts = node_facts(node)
    story.tell(
        Demo(
            screen=Screen(Console(file=shown, width=120, highlight=False), steps=story.steps(facts)),
            programs=HostedPrograms(directory=directory, environ={}),
            directory=directory,
            node=node,
            facts=facts,
            gpus=gpus,
        )
    )
    return shown.getvalue()


def numbers(text: str) -> list[str]:
    """Return the numbers of the steps that were shown."""
    return re.findall(r"^(\d/\d)  ", text, re.MULTILINE)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "CONFIG", QUICK)


@pytest.mark.parametrize("node", node_names())
def test_each_node_is_shown_to_the_end(node: str, socket_dir: Path) -> None:
    text = told(socket_dir, node, None)
    count = 4 if node == "nogpu" else 6 if node in WITHOUT_FAULTS else 7
    assert numbers(text) == [f"{step}/{count}" for step in range(1, count + 1)]
    asked = {"nogpu": 0}.get(node, min(2, len(load_node(node).gpus) or 1))
    assert re.findall(r"A container asks for (\d+) GPU", text) == ([str(asked)] if asked else [])


@pytest.mark.parametrize("node", ["t4", "jetson", "wsl", "h100-mig", "nogpu"])
def test_a_container_may_ask_for_the_only_gpu(node: str, socket_dir: Path) -> None:
    text = told(socket_dir, node, 1)
    unhealthy = re.findall(r"\| (\S+) \| \S+ +\| Unhealthy \|", text)
    assert unhealthy == ([] if node in {"nogpu", *WITHOUT_FAULTS} else ["GPU0"])


@pytest.mark.parametrize(("node", "gpus", "there"), [("t4", 2, 1), ("gb200x4", 9, 4)])
def test_a_container_that_asks_for_more_than_there_is_waits_and_asks_again(
    node: str, gpus: int, there: int, socket_dir: Path
) -> None:
    text = told(socket_dir, node, gpus)
    assert (
        f"A container asks for {gpus} of nvidia.com/gpu, of which {there} are healthy and free. In a cluster, its pod "
        f"stays Pending. Here, it asks again for {there}.\n"
    ) in text


def test_the_gpu_that_fails_is_one_that_the_container_holds(socket_dir: Path) -> None:
    text = told(socket_dir, "a100x4-pcie", 2)
    held = set(re.findall(r"\| allocated \| (GPU\d)", text))
    assert set(re.findall(r"\| (GPU\d) \| \S+ +\| Unhealthy \|", text)) < held


def test_what_nobody_serves_is_no_gpu_of_the_node(tmp_path: Path) -> None:
    file = tmp_path / "node.yaml"
    file.write_text("gpus: [{model: T4, name: NVIDIA DGX Display}]\n", "utf-8")
    assert node_facts(str(file)) == NodeFacts(names={}, tells_faults=True)
