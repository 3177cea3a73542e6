from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fakes.node_root import NodeRoot


@pytest.fixture
def node(socket_dir: Path) -> Iterator[NodeRoot]:
    """Give a node in good order."""
    with ExitStack() as stack:
        yield NodeRoot(socket_dir, stack)
