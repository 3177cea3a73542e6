"""The demo from end to end, with the real programs as processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.console import Console

from fakes.patience import PATIENCE
from gpu_demo import app
from gpu_demo.node_facts import node_facts
from gpu_demo.programs import DemoError, Programs
from gpu_demo.screen import Screen
from gpu_demo.stage import Demo
from gpu_demo.story import tell

GPU_DEMO = Path(sys.executable).parent / "gpu-demo"


def environ(directory: Path) -> Mapping[str, str]:
    """Return an environment whose temporary files go below a directory."""
    return {"PATH": os.environ["PATH"], "TMPDIR": str(directory)}


def test_the_demo_shows_a_node_from_its_labels_to_a_repaired_gpu(socket_dir: Path) -> None:
    done = subprocess.run(
        [GPU_DEMO], env=environ(socket_dir), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stderr) == (0, "")
    steps = re.findall(r"^\d/7  .*$", done.stdout, re.MULTILINE)
    assert steps == [
        "1/7  What the node is",
        "2/7  How its GPUs are connected",
        "3/7  The device plugin meets the kubelet",
        "4/7  A container asks for 2 GPUs",
        "5/7  A GPU of the container falls off the bus (XID 79)",
        "6/7  The GPU is reset",
        "7/7  The plugin is stopped",
    ]
    for line in (
        r"  nvidia\.com/gpu\.count +8$",
        r"  nvidia\.com/gpu\.product +NVIDIA-H100-80GB-HBM3$",
        r"  GPU0 +X +NV18 ",
        r"ok  registered nvidia\.com/gpu on nvidia-gpu\.sock, API v1beta1",
        r"\| preferred \| GPU2 \| GPU-\S+ +\|",
        r"\| allocated \| GPU3 \| GPU-\S+ +\|",
        r"  NVIDIA_VISIBLE_DEVICES=GPU-[-0-9a-f]+,GPU-[-0-9a-f]+",
        r"\| GPU3 \| GPU-\S+ +\| Unhealthy \| 0 +\|",
        r"The kubelet counts 7 of 8 nvidia\.com/gpu as allocatable\.",
        r"The kubelet counts 8 of 8 nvidia\.com/gpu as allocatable\.",
        r"ok  exit code 0, and its socket is gone",
    ):
        assert re.search(rf"^{line}", done.stdout, re.MULTILINE), f"{line} is not in\n{done.stdout}"
    assert list(socket_dir.iterdir()) == []
    assert_typed_lines_print_what_is_shown(done.stdout)


def assert_typed_lines_print_what_is_shown(shown: str) -> None:
    """Whoever types what the demo shows of gpu-feature-discovery sees the same, but for the time."""
    typed = re.findall(r"^\$ (gfd .*)\n((?:  .*\n|\n(?=  ))+)", shown, re.MULTILINE)
    assert [line.split()[1] for line, _ in typed] == ["--oneshot", "topology"]
    for line, block in typed:
        command, *words = line.split()
        done = subprocess.run([GPU_DEMO.parent / command, *words], env={}, capture_output=True, text=True, check=True)
        printed = [f"  {text}".rstrip() for text in done.stdout.splitlines() if "timestamp" not in text]
        assert [text for text in block.splitlines() if "timestamp" not in text] == printed


def ended(group: int) -> bool:
    """Wait until no process of a group is left; who ended shortly ago may not have been collected yet."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_ctrl_c_stops_the_programs_and_removes_the_files(socket_dir: Path) -> None:
    with subprocess.Popen(
        [GPU_DEMO],
        env=environ(socket_dir),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        for line in demo.stdout:
            if line.startswith("$ nvidia-device-plugin"):
                break
        demo.send_signal(signal.SIGINT)
        demo.stdout.read()
        assert demo.stderr.read() == "\nInterrupted; the programs are stopped and the files are gone.\n"
        assert demo.wait() == 130
        assert ended(demo.pid)
    assert list(socket_dir.iterdir()) == []


def test_an_unknown_node_is_refused_with_those_that_there_are(socket_dir: Path) -> None:
    done = subprocess.run(
        [GPU_DEMO, "--simulated-node=no-such-node"],
        env=environ(socket_dir),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.match(r"gpu-demo: There is no simulated node called no-such-node\. Give one of a100-", done.stderr)


def test_a_plugin_that_dies_ends_the_demo_with_its_last_words(socket_dir: Path) -> None:
    for name, text in (("gfd", "echo nvidia.com/a b"), ("nvidia-device-plugin", "echo no driver >&2; exit 3")):
        (socket_dir / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (socket_dir / name).chmod(0o755)
    demo = Demo(
        screen=Screen(Console(quiet=True), steps=7),
        programs=Programs(directory=socket_dir, environ=environ(socket_dir)),
        directory=socket_dir,
        node="h100x8",
        facts=node_facts("h100x8"),
    )
    with pytest.raises(DemoError, match=r"^`nvidia-device-plugin .*` ended with 3:\n    no driver$"):
        tell(demo)


def test_a_long_path_for_temporary_files_leaves_no_room_for_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/somewhere/deep" * 4)
    assert app._place() == "/tmp"
    monkeypatch.setattr("tempfile.tempdir", "/scratch")
    assert app._place() == "/scratch"
