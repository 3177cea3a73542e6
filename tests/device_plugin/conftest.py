from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpu_demo.kubelet import Kubelet


@pytest.fixture
def kubelet(socket_dir: Path) -> Iterator[Kubelet]:
    with Kubelet(socket_dir / "k") as running:
        yield running
