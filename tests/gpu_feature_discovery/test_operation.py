"""What gpu-feature-discovery tells of itself: ready once its labels are published, and why not until then."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fakes.api_faults import Refuse
from fakes.api_server import ApiServer
from fakes.gfd_bench import Bench
from fakes.http_client import get, get_json, scrape
from fakes.kubeconfig import write_kubeconfig
from gpu_core.runtime.probes import Pulse
from gpu_core.web.endpoints import answering
from gpu_feature_discovery.serve import endpoints


@contextmanager
def watched(bench: Bench) -> Iterator[int]:
    with answering("127.0.0.1:0", endpoints(bench.app, tuple, bench.counters, Pulse(time.monotonic))) as port:
        assert port is not None
        yield port


def test_readiness_follows_the_labels_to_their_destination(tmp_path: Path) -> None:
    with ApiServer() as server:
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
        bench = Bench(tmp_path, "--node-name=a", "--namespace=gpu", f"--kubeconfig={kubeconfig}", "--kube-api-qps=0")
        with watched(bench) as port:
            before = get(port, "/readyz")
            server.misbehave(Refuse(503))
            bench.step()
            refused = get(port, "/readyz")
            bench.step(60)
            published = get(port, "/readyz")
            server.misbehave(Refuse(403))
            bench.happen("remove 1")
            bench.step(60)
            lost = get(port, "/readyz")
    assert (before.status, before.body) == (503, "[-] labels: none were published yet\n")
    assert (refused.status, "503" in refused.body) == (503, True)
    assert (published.status, "went to NodeFeature" in published.body) == (200, True)
    assert (lost.status, "403" in lost.body) == (503, True)


def test_a_driver_that_goes_is_told_of_and_labels_stay_published(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.step()
    bench.happen("fail Init * DRIVER_NOT_LOADED")
    bench.step(60)
    with watched(bench) as port:
        ready = get(port, "/readyz")
    assert (ready.status, "without those that need the driver" in ready.body) == (200, True)


def test_numbers_move_as_labels_are_published(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with watched(bench) as port:
        seen = [scrape(port)]
        bench.step()
        seen.append(scrape(port))
        bench.config.write_text("version: v2\n")
        bench.step(60, reload=("SIGHUP",))
        seen.append(scrape(port))
        bench.config.write_text("version: v1\n")
        bench.step(0, reload=("SIGHUP",))
        seen.append(scrape(port))
    assert [numbers.get("gfd_publishes_total", {}).get(()) for numbers in seen] == [None, 1, 2, 3]
    assert seen[1]["gfd_labels"][()] == len(bench.labels())
    assert seen[1]["gfd_last_published_timestamp_seconds"][()] == 1_700_000_000
    assert [numbers.get("gfd_config_loads_total") for numbers in seen[1:]] == [
        None,
        {("refused",): 1},
        {("applied",): 1, ("refused",): 1},
    ]
    digest = hashlib.sha256(b"version: v1\n").hexdigest()
    assert seen[3]["gpu_suite_config_info"] == {(digest, "config.yaml"): 1}


def test_the_page_shows_labels_and_configuration(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.step()
    with watched(bench) as port:
        page, document = get(port, "/"), get_json(port)
    assert "nvidia.com/gpu.product" in page.body
    assert "sleepInterval: 1m0s" in page.body
    assert document["labels"]["nvidia.com/gpu.count"] == "2"
