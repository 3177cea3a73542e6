"""Labels that move from one destination to another leave nothing behind, whatever ended the process before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.api_faults import Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.gfd_bench import Bench
from fakes.kubeconfig import write_kubeconfig
from gpu_core.command import run_program
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_feature_discovery.cli import run
from gpu_feature_discovery.outputs.node import ANNOTATION

FEATURES = "nfd.k8s-sigs.io/nodefeatures"
FEATURE = Key(FEATURES, "gpu", "nvidia-features-for-node-a")
DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "u1"}
LATER = 200.0
"""Seconds in which node-feature-discovery has read everything."""


class Place:
    """A node and its cluster, in which one gfd follows another."""

    def __init__(self, tmp_path: Path, server: ApiServer) -> None:
        self.tmp_path = tmp_path
        self.server = server
        self.file = tmp_path / "features.d" / "gfd"
        self.file.parent.mkdir()
        server.put_node("node-a", {"kubernetes.io/os": "linux"})
        server.store.create(Key("pods", "gpu", "gfd-1"), {"kind": "Pod", "metadata": {"ownerReferences": [DAEMON_SET]}})

    def flags(self, *argv: str) -> tuple[str, ...]:
        kubeconfig = write_kubeconfig(self.tmp_path / "kubeconfig", self.server.url)
        return (
            *("--node-name=node-a", "--namespace=gpu", "--pod-name=gfd-1", f"--output-file={self.file}"),
            *(f"--kubeconfig={kubeconfig}", "--kube-api-qps=0", *argv),
        )

    def start(self, *argv: str) -> Bench:
        """Start a gfd and let it make its first pass. To forget it is to kill it."""
        bench = Bench(self.tmp_path, *self.flags(*argv))
        bench.step()
        return bench

    def holding(self) -> set[str]:
        """Return which destinations hold labels of ours."""
        found = {
            "file": self.file.exists(),
            "node": ANNOTATION in self.server.node("node-a")["metadata"].get("annotations", {}),
            "nodefeature": bool(self.server.store.list(FEATURES)),
        }
        return {name for name, holds in found.items() if holds}

    def node_labels(self) -> dict[str, str]:
        labels: dict[str, str] = self.server.node("node-a")["metadata"]["labels"]
        return {key.removeprefix("nvidia.com/"): value for key, value in labels.items()}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ApiServer() as server:
        yield Place(tmp_path, server)


def end(bench: Bench) -> None:
    with bench.app.running():
        bench.step(stop=("SIGTERM",))


@pytest.mark.parametrize("how", ["killed", "ended"])
@pytest.mark.parametrize("now", ["file", "node", "nodefeature"])
@pytest.mark.parametrize("before", ["file", "node", "nodefeature", "stdout"])
def test_one_destination_holds_labels_after_another_process(place: Place, before: str, now: str, how: str) -> None:
    former = place.start(f"--publish={before}")
    if how == "ended":
        end(former)
    present = place.start(f"--publish={now}")
    for _ in range(3):
        present.step(LATER)
    assert place.holding() == {now}
    assert present.logged("warning") == []


@pytest.mark.parametrize("before", ["file", "node", "nodefeature"])
def test_standard_output_replaces_nobodys_labels(place: Place, before: str) -> None:
    place.start(f"--publish={before}")
    place.start("--publish=stdout").step(LATER)
    assert place.holding() == {before}


@pytest.mark.parametrize("before", ["file", "node", "nodefeature"])
def test_a_single_pass_leaves_a_daemons_labels_alone(place: Place, before: str) -> None:
    place.start(f"--publish={before}")
    for now in ("nodefeature", "node", "file"):
        argv = ["--oneshot", "--simulated-node=t4", *place.flags(f"--publish={now}")]
        assert run_program(GPU_FEATURE_DISCOVERY, argv, {}, run) == 0
        assert before in place.holding()


FALLBACK = ("--publish=nodefeature", "--publish-fallback=node")


@pytest.mark.parametrize("how", ["running on", "killed", "ended"])
def test_once_the_cluster_knows_the_resource_the_node_keeps_only_what_it_inherits(place: Place, how: str) -> None:
    place.server.lacks.add(FEATURES)
    bench = place.start(*FALLBACK)
    assert place.holding() == {"node"}
    assert place.node_labels()["gpu.memory"] == "46068"
    place.server.lacks.clear()
    bench.happen("fail DeviceGetMemoryInfo * NOT_SUPPORTED")
    if how == "running on":
        bench.step(LATER)
    else:
        if how == "ended":
            end(bench)
        bench.app = bench.start()
        bench.step()
    assert place.holding() == {"nodefeature"}
    published = place.server.store.get(FEATURE)["spec"]["labels"]
    assert place.server.node("node-a")["metadata"]["labels"] == {
        "kubernetes.io/os": "linux",
        **{key: value for key, value in published.items() if not key.endswith("gfd.timestamp")},
        "nvidia.com/gfd.timestamp": place.node_labels()["gfd.timestamp"],
    }
    assert "gpu.memory" not in place.node_labels()


def test_a_single_pass_takes_back_what_an_earlier_one_fell_back_to(place: Place) -> None:
    argv = ["--oneshot", "--simulated-node=t4", *place.flags(*FALLBACK)]
    place.server.lacks.add(FEATURES)
    assert run_program(GPU_FEATURE_DISCOVERY, argv, {}, run) == 0
    assert place.holding() == {"node"}
    place.server.lacks.clear()
    assert run_program(GPU_FEATURE_DISCOVERY, argv, {}, run) == 0
    assert place.holding() == {"nodefeature"}


def test_a_resource_that_goes_again_is_no_reason_to_lose_the_labels(place: Place) -> None:
    bench = place.start(*FALLBACK)
    assert place.holding() == {"nodefeature"}
    for collection, expected in ((FEATURES, "node"), ("", "nodefeature"), (FEATURES, "node")):
        place.server.lacks = {collection}
        if collection:
            for feature in place.server.store.list(FEATURES):
                place.server.store.delete(Key(FEATURES, "gpu", feature["metadata"]["name"]))
        for _ in range(4):
            bench.step(LATER)
        assert place.holding() == {expected}


def use_api(bench: Bench, use: bool) -> None:
    bench.config.write_text(f"flags: {{useNodeFeatureAPI: {str(use).lower()}}}\n")
    bench.step(reload=("SIGHUP",))


def test_a_reload_that_turns_to_a_file_deletes_the_object_when_the_file_has_been_read(place: Place) -> None:
    bench = place.start()
    assert place.holding() == {"nodefeature"}
    use_api(bench, use=False)
    bench.step(60)
    assert place.holding() == {"file", "nodefeature"}
    bench.step(LATER)
    assert place.holding() == {"file"}
    use_api(bench, use=True)
    assert place.holding() == {"nodefeature"}


def test_a_file_stays_until_the_labels_have_arrived_elsewhere(place: Place) -> None:
    bench = Bench(place.tmp_path, *place.flags())
    bench.config.write_text("flags: {useNodeFeatureAPI: false}\n")
    bench.app = bench.start()
    bench.step()
    place.server.misbehave(Refuse(503), path="nodefeatures")
    use_api(bench, use=True)
    assert place.holding() == {"file"}
    bench.step(30)
    assert place.holding() == {"nodefeature"}


def test_a_file_does_not_outlive_a_program_whose_labels_never_arrived_elsewhere(place: Place) -> None:
    bench = Bench(place.tmp_path, *place.flags())
    bench.config.write_text("flags: {useNodeFeatureAPI: false}\n")
    bench.app = bench.start()
    bench.step()
    place.server.misbehave(Refuse(503), path="nodefeatures", times=1000)
    use_api(bench, use=True)
    end(bench)
    assert place.holding() == set()


def test_a_file_that_was_to_be_kept_goes_when_labels_go_elsewhere(place: Place) -> None:
    end(place.start("--publish=file", "--keep-output-file"))
    assert place.holding() == {"file"}
    place.start("--publish=nodefeature", "--keep-output-file")
    assert place.holding() == {"nodefeature"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="an empty file"),
        pytest.param("vendor.com/gpu.count=8\nnvidia.com/gfd.timestamp=1\n", id="a label of another"),
        pytest.param("nvidia.com/my.own=1\n", id="a label that we never write alone"),
        pytest.param("# mine\nnvidia.com/gpu.count=8\n", id="a comment"),
        pytest.param("\x00" * 64, id="no text"),
    ],
)
def test_a_file_that_is_not_provably_ours_stays(place: Place, text: str) -> None:
    place.file.write_text(text)
    place.start("--publish=nodefeature").step(LATER)
    assert place.file.read_text() == text


def test_a_link_to_a_file_of_ours_stays(place: Place, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("nvidia.com/gpu.count=8\n")
    place.file.symlink_to(target)
    place.start("--publish=nodefeature").step(LATER)
    assert (place.file.is_symlink(), target.exists()) == (True, True)


def test_labels_of_a_node_that_we_never_set_stay(place: Place) -> None:
    mine = {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.deploy.driver": "true"}
    place.server.put_node("node-a", mine)
    place.start("--publish=nodefeature").step(LATER)
    assert place.server.node("node-a")["metadata"]["labels"] == mine


def test_another_daemon_sets_object_stays_while_ours_labels_the_node(place: Place) -> None:
    body = {"metadata": {"ownerReferences": [{**DAEMON_SET, "uid": "u7"}]}, "spec": {"labels": {}}}
    place.server.store.create(FEATURE, body)
    place.start("--publish=node").step(LATER)
    assert place.holding() == {"node", "nodefeature"}


def test_the_node_is_looked_after_soon_when_node_feature_discovery_takes_its_labels_off(place: Place) -> None:
    place.start("--publish=nodefeature")
    bench = place.start("--publish=node")
    bench.step(LATER)
    assert place.holding() == {"node"}
    place.server.put_node("node-a", {})
    bench.step(10)
    assert place.node_labels()["gpu.count"] == "2"


@pytest.mark.parametrize(
    "content", [pytest.param(b"\xff", id="no text"), pytest.param(b"{", id="no YAML"), pytest.param(None, id="missing")]
)
def test_labels_in_a_file_do_not_need_a_kubeconfig_that_can_be_used(place: Place, content: bytes | None) -> None:
    bad = place.tmp_path / "bad"
    if content is not None:
        bad.write_bytes(content)
    bench = place.start("--publish=file", f"--kubeconfig={bad}")
    bench.step(LATER)
    assert place.holding() == {"file"}
    assert bench.logged("warning") == []


def forbidden(path: str, server: ApiServer) -> Any:
    server.misbehave(Refuse(403, message="not yours"), path=path, times=1000)


def test_a_program_that_may_not_look_elsewhere_says_nothing_of_it(place: Place) -> None:
    forbidden("/nodes/", place.server)
    bench = place.start("--publish=nodefeature")
    for _ in range(3):
        bench.step(LATER)
    assert bench.logged("warning") == []
    assert len([request for request in place.server.requests if "/nodes/" in request.path]) == 1


def test_what_this_program_may_not_take_back_is_said_once_and_tried_again_every_few_minutes(place: Place) -> None:
    place.server.lacks.add(FEATURES)
    bench = place.start(*FALLBACK)
    place.server.lacks.clear()
    forbidden("/nodes/", place.server)
    before = len(place.server.requests)
    for _ in range(1000):
        bench.step(1)
    asked = [request for request in place.server.requests[before:] if "/nodes/" in request.path]
    assert 4 <= len(asked) <= 10
    told = [line for line in bench.logged("warning") if "are still there" in line]
    assert len(told) == 1
    assert told[0].startswith("Labels that went to Node node-a before are still there: The API server answered GET")
    place.server.behave()
    bench.step(300)
    assert place.holding() == {"nodefeature"}
