"""The subcommand on this machine: what it prints, in which form, and with which exit code it ends."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest

from device_plugin.doctor.command import DOCTOR
from device_plugin.doctor.finding import Level, ok, problem, skipped, warning, worst
from device_plugin.doctor.machine import ask_driver, in_container
from device_plugin.doctor.report import as_json, as_text
from gpu_core.command import run_program
from gpu_core.command.terminal import Terminal
from gpu_core.config.load import Loaded
from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN, PluginSettings
from gpu_core.devices.backend import Backend
from gpu_core.errors import NvmlCallError
from gpu_core.hardware.source import NodeSource

FINDINGS = (
    ok("config", "The configuration is valid."),
    problem(
        "driver",
        "The driver does not start: nvmlInit failed with DRIVER_NOT_LOADED, as on a node whose kernel was updated and "
        "whose driver was not.",
        "The kernel has no NVIDIA driver at work.",
        "Run `modprobe nvidia`.",
    ),
    warning("MIG", "The strategy is none.", "MIG devices are not served.", "Set --mig-strategy."),
    skipped("runtime", "The host's files are not visible here."),
)
TEXT = """\
PROBLEM   driver: The driver does not start: nvmlInit failed with DRIVER_NOT_LOADED, as on a node
          whose kernel was updated and whose driver was not.
          The kernel has no NVIDIA driver at work.
          -> Run `modprobe nvidia`.
WARNING   MIG: The strategy is none.
          MIG devices are not served.
          -> Set --mig-strategy.
ok        config: The configuration is valid.
skipped   runtime: The host's files are not visible here.

1 problem, 1 warning, 1 ok, 1 skipped.

Fix this first: driver: The driver does not start: nvmlInit failed with DRIVER_NOT_LOADED, as on a
node whose kernel was updated and whose driver was not. Run `modprobe nvidia`.
"""


def doctor(*argv: str, environ: dict[str, str] | None = None) -> int:
    def serve(_: Loaded[PluginSettings]) -> int:
        raise AssertionError

    return run_program(DEVICE_PLUGIN, ["doctor", *argv], environ or {}, serve, subcommands=[DOCTOR])


def test_findings_as_text() -> None:
    assert as_text(FINDINGS, Terminal()) == TEXT


def test_findings_as_json() -> None:
    document = json.loads(as_json(FINDINGS))
    assert document["worst"] == "problem"
    assert document["fixFirst"] == {"check": "driver", "fact": FINDINGS[1].fact}
    assert document["findings"][1] == {
        "check": "MIG",
        "level": "warning",
        "fact": "The strategy is none.",
        "meaning": "MIG devices are not served.",
        "nextStep": "Set --mig-strategy.",
        "follows": None,
    }


def test_the_worst_finding_counts() -> None:
    assert [worst(FINDINGS), worst(FINDINGS[2:]), worst(FINDINGS[3:]), worst(())] == [
        Level.PROBLEM,
        Level.WARNING,
        Level.SKIPPED,
        Level.OK,
    ]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        pytest.param(["--kubelet-socket=", "--mig-strategy=none"], 0, id="a warning is no failure"),
        pytest.param(["--kubelet-socket=", "--mig-strategy=none", "--fail-on=warning"], 1, id="unless it is asked for"),
        pytest.param(["--kubelet-socket=/nowhere/kubelet.sock"], 1, id="a problem is one"),
        pytest.param(["--kubelet-socket=", "--config-file=/nowhere"], 1, id="so is a config that cannot be read"),
    ],
)
def test_the_exit_code_follows_the_worst_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, argv: list[str], code: int
) -> None:
    common = ["--simulated-node=a100-mig-mixed", f"--device-plugin-dir={tmp_path}", f"--host-root={host(tmp_path)}"]
    assert doctor(*common, "--format=json", *argv) == code
    document = json.loads(capsys.readouterr().out)
    assert document["worst"] == ("problem" if code and "--fail-on=warning" not in argv else "warning")


def host(tmp_path: Path) -> Path:
    root = tmp_path / "host"
    config = root / "etc/containerd/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('version = 3\n[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]\n')
    return root


def test_the_real_machine_is_looked_at_without_a_driver(capsys: pytest.CaptureFixture[str]) -> None:
    code = doctor("--driver-root-ctr-path=/nowhere", environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert code in (0, 1)
    assert "skipped   runtime: The host's files are not visible here." in capsys.readouterr().out


def test_a_driver_that_hangs_is_not_waited_for_for_ever() -> None:
    def hangs(_: Config) -> Backend:
        threading.Event().wait()
        raise AssertionError

    driver = ask_driver(NodeSource(open=hangs, exists=lambda _: False), Config(), patience=0.01)
    assert isinstance(driver.error, NvmlCallError)
    assert driver.error.code == "TIMEOUT"


def test_a_container_is_known_by_its_marks(tmp_path: Path) -> None:
    assert not in_container({}, tmp_path)
    assert in_container({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)
    (tmp_path / ".dockerenv").touch()
    assert in_container({}, tmp_path)


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 100, 200])
def test_text_fits_the_terminal(width: int) -> None:
    lines = as_text(FINDINGS, Terminal(width=width)).splitlines()
    assert max(len(line) for line in lines) <= min(width, 100)
    assert as_text(FINDINGS, Terminal(width=200)) == TEXT


NARROW = """\
PROBLEM driver: It is off.
  No GPU.
-> Run `modprobe nvidia` on
  the node.

1 problem.

Fix this first: driver: It
is off. Run `modprobe
nvidia` on the node.
"""


def test_a_narrow_terminal_gets_no_wide_margin() -> None:
    found = problem("driver", "It is off.", "No GPU.", "Run `modprobe nvidia` on the node.")
    assert as_text([found], Terminal(width=27)) == NARROW


def test_paths_stay_whole_on_any_terminal() -> None:
    path = "/var/lib/kubelet/device-plugins/kubelet.sock"
    found = problem("kubelet", f"{path} is not there.", "No kubelet runs here.", "Check it.")
    assert path in as_text([found], Terminal(width=20))


def test_colours_are_for_signs_and_change_nothing_else() -> None:
    text = as_text(FINDINGS, Terminal(colours=True))
    coloured = ("\x1b[1;31mPROBLEM\x1b[0m", "\x1b[33mWARNING\x1b[0m", "\x1b[32mok\x1b[0m", "\x1b[2mskipped\x1b[0m")
    assert [sign for sign in coloured if sign not in text] == []
    assert "\x1b[1mFix this first:\x1b[0m" in text
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == TEXT
