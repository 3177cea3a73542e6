"""The page about simulated nodes names what there is."""

from __future__ import annotations

from pathlib import Path

from gpu_core.devices.simulated.files import describe_nodes, models

PAGE = (Path(__file__).parents[3] / "docs/reference/simulated-nodes.md").read_text(encoding="utf-8")


def test_the_page_lists_every_node_of_the_package() -> None:
    assert [name for name, text in describe_nodes() if f"| `{name}` | {text}. |" not in PAGE] == []


def test_the_page_lists_every_model() -> None:
    assert ", ".join(sorted(models())) in PAGE
