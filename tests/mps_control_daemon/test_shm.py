"""How the shared memory is mounted."""

from __future__ import annotations

import pytest

from mps_control_daemon.shm import ShmPlan, mounts_at, plan_shm, shm_size

MEMINFO = "MemFree:  123 kB\nMemTotal:       65536001 kB\nMemAvailable: 1 kB\n"
MOUNTINFO = r"""
22 28 0:21 / /proc rw,nosuid - proc proc rw
31 28 0:27 / /mps/shm rw - tmpfs shm rw
32 31 0:28 / /mps/shm rw - tmpfs shm rw
33 28 0:29 / /mps/shm\040here rw - tmpfs shm rw
34 28 0:30 / /mps/shm/deep rw - tmpfs shm rw
odd
"""


@pytest.mark.parametrize(
    ("meminfo", "size"),
    [
        pytest.param(MEMINFO, "32768000k", id="half of all memory in the kernel's unit"),
        pytest.param("MemTotal: 7\n", "3", id="a number without unit stays one"),
        pytest.param("MemTotal: many kB\n", "65536k", id="no number"),
        pytest.param("", "65536k", id="no file"),
    ],
)
def test_the_size(meminfo: str, size: str) -> None:
    assert shm_size(meminfo) == size


@pytest.mark.parametrize(
    ("directory", "count"), [("/mps/shm", 2), ("/mps/shm here", 1), ("/mps", 0), ("/mps/shm/deep", 1)]
)
def test_mounts_are_counted_at_exactly_one_place(directory: str, count: int) -> None:
    assert mounts_at(directory, MOUNTINFO) == count


def test_the_plan() -> None:
    assert plan_shm("/mps/shm", meminfo=MEMINFO, mountinfo=MOUNTINFO) == ShmPlan(
        unmounts=2,
        unmount=("umount", "/mps/shm"),
        unmount_lazily=("umount", "--lazy", "/mps/shm"),
        mount=(
            *("mount", "-t", "tmpfs", "-o"),
            *("rw,nosuid,nodev,noexec,relatime,size=32768000k", "shm", "/mps/shm"),
        ),
    )
