from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import Cluster, connect


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        yield running


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Iterator[Cluster]:
    opened = connect(kubeconfig=str(write_kubeconfig(tmp_path / "kubeconfig", server.url)), qps=0, environ={})
    yield opened
    opened.close()
