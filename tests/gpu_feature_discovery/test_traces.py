from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_feature_discovery.machine import traces


def write(root: Path, path: str, text: str = "") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    write(tmp_path, "dev/nvidia0")
    write(tmp_path, "dev/sda")
    write(tmp_path, "proc/driver/nvidia/version", "550.90.07")
    write(tmp_path, "proc/driver/nvidia/gpus/0000:07:00.0/information")
    write(tmp_path, "proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci0/access")
    write(tmp_path, "sys/bus/pci/drivers/nvidia/0000:07:00.0")
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: write(root, "dev/nvidia1"), id="a device node appears"),
        pytest.param(lambda root: (root / "dev/nvidia0").unlink(), id="a device node vanishes"),
        pytest.param(lambda root: write(root, "sys/bus/pci/drivers/nvidia/0000:0f:00.0"), id="a GPU is bound"),
        pytest.param(
            lambda root: write(root, "proc/driver/nvidia/capabilities/gpu0/mig/gi8/ci0/access"),
            id="a GPU instance is created",
        ),
        pytest.param(
            lambda root: write(root, "proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci1/access"),
            id="a compute instance is created",
        ),
        pytest.param(lambda root: write(root, "proc/driver/nvidia/version", "570.1"), id="another driver is loaded"),
        pytest.param(lambda root: write(root, "events", "event 0 xid=79"), id="a followed file grows"),
    ],
)
def test_a_change_leaves_a_trace(node: Path, change: Callable[[Path], object]) -> None:
    before = traces(node, [node / "events"])
    change(node)
    assert traces(node, [node / "events"]) != before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda _: None, id="nothing"),
        pytest.param(lambda root: write(root, "dev/sdb"), id="another kind of device appears"),
    ],
)
def test_what_is_no_change_leaves_none(node: Path, change: Callable[[Path], object]) -> None:
    before = traces(node)
    change(node)
    assert traces(node) == before


def test_a_machine_without_a_driver_has_a_trace_too_which_a_driver_changes(tmp_path: Path) -> None:
    before = traces(tmp_path)
    assert traces(tmp_path) == before
    write(tmp_path, "proc/driver/nvidia/version", "550.90.07")
    assert traces(tmp_path) != before


def test_a_named_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    missing = traces(tmp_path, [tmp_path / "machine"])
    os.mkfifo(tmp_path / "machine")
    assert traces(tmp_path, [tmp_path / "machine"]) == missing
