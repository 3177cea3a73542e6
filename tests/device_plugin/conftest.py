from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.mps_tools import MpsTools
from gpu_demo.kubelet import Kubelet


@pytest.fixture
def kubelet(socket_dir: Path) -> Iterator[Kubelet]:
    with Kubelet(socket_dir / "k") as running:
        yield running


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MpsTools]:
    """Give the tools of MPS, first on PATH; daemons that they started end with the test."""
    made = MpsTools(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.path)
    yield made
    made.close()
