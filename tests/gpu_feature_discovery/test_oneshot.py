"""One pass and its exit code, from the command line to the destination."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.api_faults import Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from gpu_core.command import run_program
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_feature_discovery.cli import run

NODE_FEATURE = Key("nfd.k8s-sigs.io/nodefeatures", "gpu", "nvidia-features-for-node-a")


def gfd(*argv: str) -> int:
    return run_program(GPU_FEATURE_DISCOVERY, ["--oneshot", "--simulated-node=t4", *argv], {}, run)


def cluster_flags(tmp_path: Path, server: ApiServer) -> tuple[str, ...]:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    return ("--node-name=node-a", "--namespace=gpu", f"--kubeconfig={kubeconfig}", "--kube-api-qps=0")


def test_labels_reach_the_api_server(tmp_path: Path) -> None:
    with ApiServer() as server:
        assert gfd(*cluster_flags(tmp_path, server)) == 0
        assert server.store.get(NODE_FEATURE)["spec"]["labels"]["nvidia.com/gpu.product"] == "Tesla-T4"


def test_an_api_server_that_stumbles_is_asked_again(tmp_path: Path) -> None:
    with ApiServer() as server:
        server.misbehave(Refuse(503))
        assert gfd(*cluster_flags(tmp_path, server)) == 0
        assert server.store.get(NODE_FEATURE)["spec"]["labels"]["nvidia.com/gpu.count"] == "1"


def test_a_refused_token_is_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ApiServer(tokens={"another"}) as server:
        assert gfd(*cluster_flags(tmp_path, server)) == 1
    assert "Check the service account's token." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "code", "labels"),
    [
        pytest.param((), 1, 0, id="CUDA does not start"),
        pytest.param(("--fail-on-init-error=false",), 0, 2, id="CUDA does not start, which is tolerated"),
    ],
)
def test_a_tegra_chip_without_cuda(
    argv: tuple[str, ...], code: int, labels: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gfd("--device-discovery-strategy=tegra", *argv) == code
    assert len(capsys.readouterr().out.splitlines()) == labels


def test_gpus_held_for_virtual_machines_are_described_without_a_driver(capsys: pytest.CaptureFixture[str]) -> None:
    assert gfd("--device-discovery-strategy=vfio") == 0
    labels = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert labels["nvidia.com/gpu.product"] == "Tesla-T4"
    assert labels["nvidia.com/cuda.driver-version.full"] == "unknown.unknown.unknown"
    assert "nvidia.com/gpu.family" not in labels


def test_a_person_is_told_of_a_filter_that_matches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text("devices: {include: ['*A100*']}\n")
    assert gfd(f"--config-file={tmp_path}/config.yaml") == 0
    assert (
        "No GPU matches what it names (include: '*A100*'); the GPUs of this node are Tesla T4."
        in capsys.readouterr().err
    )


def test_a_machine_without_a_driver_says_what_was_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert gfd("--simulated-node=./absent.yaml") == 1
    assert "The node file ./absent.yaml cannot be read" in capsys.readouterr().err
