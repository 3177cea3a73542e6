"""The subcommand `status`: a running plugin and a kubelet are asked, and a table is made of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from device_plugin.metrics import REGISTERED
from device_plugin.serve import endpoints
from device_plugin.status.command import STATUS
from device_plugin.status.page import node_document
from device_plugin.status.table import as_text
from fakes.page_views import EMPTY
from fakes.pod_resources import pod_resources
from fakes.running_plugin import RunningPlugin, run_plugin, topology
from gpu_core.command import run_program
from gpu_core.config.load import Loaded
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN, PluginSettings
from gpu_core.runtime.probes import Pulse
from gpu_core.web.endpoints import answering
from gpu_demo.kubelet import Kubelet, Listed

GPU = "nvidia.com/gpu"
A100 = [gpu.uuid for gpu in topology("a100x4-pcie").gpus]
SHARED = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}\n"


@contextmanager
def watched(plugin: RunningPlugin) -> Iterator[str]:
    watch = endpoints(lambda: plugin.app, "node-a", plugin.counters, Pulse(time.monotonic))
    with answering("127.0.0.1:0", watch) as port:
        yield f"127.0.0.1:{port}"


def status(*argv: str) -> int:
    def serve(_: Loaded[PluginSettings]) -> int:
        raise AssertionError

    return run_program(DEVICE_PLUGIN, ["status", *argv], {}, serve, subcommands=[STATUS])


def test_devices_health_and_pods_in_one_table(
    kubelet: Kubelet, socket_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    socket = socket_dir / "pods.sock"
    held = [
        ("default", "train", "main", GPU, [f"{A100[0]}::0"]),
        ("team", "infer", "main", GPU, [f"{A100[0]}::1", f"{A100[3]}::0"]),
        ("team", "other", "main", "example.com/thing", [f"{A100[1]}::0"]),
    ]
    with (
        run_plugin(kubelet, "a100x4-pcie", config=SHARED) as plugin,
        watched(plugin) as address,
        pod_resources(socket, *held),
    ):
        kubelet.log.wait_for(Listed)
        plugin.say("event 2 xid=79")
        kubelet.log.wait_for(Listed, matching=lambda listed: "Unhealthy" in listed.health.values())
        plugin.wait_number(REGISTERED, 1)
        assert status(f"--metrics-address={address}", f"--pod-resources-socket={socket}") == 0
        table = capsys.readouterr().out
        assert status(f"--metrics-address={address}", f"--pod-resources-socket={socket}", "--format=json") == 0
        document = json.loads(capsys.readouterr().out)
    opening, state, happened, since, helps, recovery, head, columns, *rows = filter(None, table.splitlines())
    assert opening == "1 of 4 GPUs needs attention: 2"
    assert state == f"GPU 2 (NVIDIA A100-PCIE-40GB) {A100[2]}"
    assert happened == "  what happened:   XID 79 (GPU has fallen off the bus) occurred"
    assert re.fullmatch(r"  since:           \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for \d+ s", since)
    assert helps == "  what helps:      Drain the node and restart it. If it comes back, ask the vendor's support."
    assert recovery == "  recovery action: not told by the driver"
    assert head.startswith("NVIDIA Device Plugin ")
    assert head.endswith(" on node-a: ready")
    assert columns.split() == ["RESOURCE", "GPU", "DEVICE", "PRODUCT", "HEALTH", "FREE", "HELD", "BY"]
    assert [row.split()[:3] for row in rows] == [[GPU, str(index), uuid] for index, uuid in enumerate(A100)]
    assert rows[0].endswith("0/2   default/train (main), team/infer (main)")
    assert rows[1].endswith("2/2   -")
    assert "unhealthy: XID 79 (GPU has fallen off the bus) occurred (" in rows[2]
    assert rows[2].endswith("0/2   -")
    assert rows[3].endswith("1/2   team/infer (main)")
    (resource,) = document["resources"]
    assert resource["devices"][0]["heldBy"] == {
        f"{A100[0]}::0": "default/train (main)",
        f"{A100[0]}::1": "team/infer (main)",
    }
    assert document["notes"] == []
    assert document["attention"]["text"] == opening
    assert document["checks"][0]["reason"] == (
        "4 found, 1 of them unhealthy; 8 devices and shares served, 2 of them unhealthy"
    )


def test_without_http_the_sockets_are_asked(kubelet: Kubelet, capsys: pytest.CaptureFixture[str]) -> None:
    with run_plugin(kubelet, "a100-mig-mixed", "--mig-strategy=mixed"):
        for name in ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"):
            kubelet.log.wait_for(Listed, resource=name)
        assert status(f"--device-plugin-dir={kubelet.directory}", "--pod-resources-socket=/nowhere") == 0
    out = capsys.readouterr().out
    assert re.fullmatch(r"All \d devices are healthy", out.splitlines()[0])
    assert out.splitlines()[3].split()[0] == "nvidia.com/mig-1g.5gb"
    assert "Reasons are told over HTTP only" in out
    assert "Which pod holds which device is not known: /nowhere is not there." in out


def test_an_address_where_nothing_answers_falls_back_to_the_sockets(
    kubelet: Kubelet, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_plugin(kubelet, "t4x1") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("event 0 xid=79")
        kubelet.log.wait_for(Listed, matching=lambda listed: "Unhealthy" in listed.health.values())
        flags = ["--metrics-address=127.0.0.1:1", f"--device-plugin-dir={kubelet.directory}"]
        assert status(*flags, f"--pod-resources-socket={kubelet.socket}") == 0
    out = capsys.readouterr().out
    assert out.startswith("The only device needs attention: GPU-")
    assert "Its sockets were asked instead" in out
    assert "unhealthy" in out
    assert "does not tell on" in out


def test_without_a_plugin_the_next_step_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(f"--device-plugin-dir={tmp_path}") == 1
    assert f"No plugin serves in {tmp_path}." in capsys.readouterr().err


def test_what_is_missing_is_told_above_the_table() -> None:
    document = {
        "program": "NVIDIA Device Plugin",
        "version": "1",
        "node": "",
        "ready": False,
        "attention": {"text": "", "gpus": [], "total": 0, "concerns": []},
        "checks": [{"name": "GPUs", "ok": False, "reason": "no driver"}, {"name": "config", "ok": True, "reason": "-"}],
        "resources": [],
    }
    assert as_text(document, []) == (
        "No GPU is known on this node\n\nNVIDIA Device Plugin 1: not ready\n  GPUs: no driver\n\nNo device is served.\n"
    )


def test_a_gpu_that_never_answered_is_named_above_the_table_with_what_helps() -> None:
    document = node_document(
        replace(EMPTY, unreadable=((3, "nvmlDeviceGetName did not return in time"),), checks=(), node="node-a")
    )
    assert as_text(document, []) == (
        "The only GPU needs attention: 3\n"
        "\n"
        "GPU 3\n"
        "  what happened:   it never answered in full and is not served: nvmlDeviceGetName did not return in\n"
        "                   time\n"
        "  what helps:      It is read again by itself. If it lasts, look at it with nvidia-smi: if that\n"
        "                   fails too, reset the GPU or restart the node.\n"
        "  recovery action: not told by the driver\n"
        "\n"
        "NVIDIA Device Plugin 0.1.0 on node-a: ready\n"
        "\n"
        "No device is served.\n"
    )


@pytest.mark.parametrize(
    ("argv", "environ"),
    [
        pytest.param(["--config-file=CONFIG"], {}, id="a file that is no YAML"),
        pytest.param([], {"CONFIG_FILE": "/absent"}, id="a file that is not there"),
        pytest.param(["--mig-strategy=both", "--fail-on-init-error=maybe"], {}, id="wrong flags"),
        pytest.param([], {"MIG_STRATEGY": "", "LOG_LEVEL": "loud", "KUBE_API_BURST": "x"}, id="wrong variables"),
    ],
)
def test_a_config_that_cannot_be_used_is_no_reason_to_say_nothing(
    kubelet: Kubelet,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    environ: dict[str, str],
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("flags: [", "utf-8")
    words = [word.replace("CONFIG", str(config)) for word in argv]
    with run_plugin(kubelet, "a100x4-pcie") as plugin, watched(plugin) as address:
        kubelet.log.wait_for(Listed)
        everything = environ | {"METRICS_ADDRESS": address}
        code = run_program(DEVICE_PLUGIN, [*words, "status"], everything, lambda _: 3, subcommands=[STATUS])
    assert (code, capsys.readouterr().out.splitlines()[0]) == (0, "All 4 GPUs are healthy")


def test_a_plugin_of_an_older_version_is_shown_without_what_it_does_not_tell() -> None:
    document = node_document(replace(EMPTY, checks=()))
    del document["attention"]
    assert as_text(document, []).startswith("No device is served\n\nNVIDIA Device Plugin 0.1.0: ready\n")
