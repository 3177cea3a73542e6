from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.four_programs import PROGRAMS, Bench, bench
from gpu_demo.kubelet import Kubelet


@pytest.fixture(params=PROGRAMS)
def node(request: pytest.FixtureRequest, socket_dir: Path) -> Iterator[Bench]:
    """Give the node of each program in turn."""
    with bench(request.param, socket_dir) as made:
        yield made


@pytest.fixture
def kubelet(socket_dir: Path) -> Iterator[Kubelet]:
    with Kubelet(socket_dir / "k") as running:
        yield running
