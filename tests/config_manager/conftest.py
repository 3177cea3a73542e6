from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.managed_node import Node

MakeNode = Callable[..., Node]


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[MakeNode]:
    """Give a function that makes nodes; their API servers are stopped at the end."""
    made: list[Node] = []

    def make(files: Mapping[str, str], **settings: Any) -> Node:
        directory = tmp_path / f"node-{len(made)}"
        directory.mkdir()
        made.append(Node(directory, files, **settings))
        return made[-1]

    yield make
    for node in made:
        node.close()
