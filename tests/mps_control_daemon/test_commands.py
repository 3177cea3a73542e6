"""Every command line, as a value."""

from __future__ import annotations

import pytest

from core.mps.sharing import plan_of
from gpu_core.mps import MpsRoot
from mps_control_daemon.commands import (
    MODES,
    Command,
    ask_daemon,
    compute_mode,
    limit_lines,
    query_compute_mode,
    set_compute_mode,
    start_daemon,
)

ROOT = MpsRoot("/mps")
LOG = ("CUDA_MPS_LOG_DIRECTORY", "/mps/nvidia.com/gpu/log")
PIPE = ("CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe")


def test_a_daemon_is_started_with_its_directories_and_its_gpus_and_nothing_else() -> None:
    assert start_daemon(plan_of("GPU-7", "GPU-1"), ROOT) == Command(
        argv=("nvidia-cuda-mps-control", "-d"), environment=(LOG, PIPE, ("CUDA_VISIBLE_DEVICES", "GPU-7,GPU-1"))
    )


def test_a_daemon_is_asked_by_a_line_without_its_end() -> None:
    assert ask_daemon("nvidia.com/gpu", ROOT, "quit") == Command(
        argv=("nvidia-cuda-mps-control",), environment=(LOG, PIPE), input="quit"
    )


@pytest.mark.parametrize(
    ("limit", "percentage", "expected"),
    [
        pytest.param(
            500,
            12.5,
            (
                "set_default_device_pinned_mem_limit 0 500M",
                "set_default_device_pinned_mem_limit 1 500M",
                "set_default_active_thread_percentage 12.5",
            ),
            id="GPUs are numbered as the daemon sees them",
        ),
        pytest.param(None, 50.0, ("set_default_active_thread_percentage 50",), id="no limit of memory"),
        pytest.param(None, None, (), id="no limits at all"),
    ],
)
def test_limits(limit: int | None, percentage: float | None, expected: tuple[str, ...]) -> None:
    assert limit_lines(plan_of("GPU-7", "GPU-9", limit=limit, percentage=percentage)) == expected


def test_compute_modes_are_set_and_asked_by_uuid_in_our_own_environment() -> None:
    assert set_compute_mode("GPU-7", "DEFAULT") == Command(argv=("nvidia-smi", "-i", "GPU-7", "-c", "DEFAULT"))
    assert query_compute_mode("GPU-7") == Command(
        argv=("nvidia-smi", "-i", "GPU-7", "--query-gpu=compute_mode", "--format=csv,noheader")
    )


@pytest.mark.parametrize(
    ("answer", "mode"),
    [
        ("Default\n", "DEFAULT"),
        ("Exclusive_Process\n", "EXCLUSIVE_PROCESS"),
        ("Exclusive_Thread\n", "EXCLUSIVE_THREAD"),
        ("Prohibited\n", "PROHIBITED"),
        ("[N/A]\n", None),
        ("", None),
    ],
)
def test_modes_are_shown_otherwise_than_they_are_set(answer: str, mode: str | None) -> None:
    assert compute_mode(answer) == mode
    assert mode is None or mode in MODES
