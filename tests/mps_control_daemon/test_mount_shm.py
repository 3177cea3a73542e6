"""`mount-shm`, with commands that are only noted, and for real where the machine allows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpu_core.errors import MpsError
from gpu_core.mps import MpsRoot
from gpu_core.runtime.process import Completed
from mps_control_daemon.mount_shm import mount_shm

PROGRAM = Path(sys.executable).parent / "mps-control-daemon"


class Commands:
    """Notes commands instead of running them; those whose words are in `failing` fail."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.run: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Completed:
        self.run.append(" ".join(argv))
        fails = argv[0] in self.failing or " ".join(argv[:2]) in self.failing
        return Completed(returncode=32 if fails else 0, stdout="", stderr="target is busy.\n" if fails else "")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 2000 kB\n")
    mount = f"31 28 0:27 / {tmp_path}/shm rw - tmpfs shm rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(mount * 2)
    return tmp_path / "proc"


def test_what_was_mounted_before_goes_and_one_mount_comes(tmp_path: Path, proc: Path) -> None:
    commands = Commands()
    mount_shm(MpsRoot(str(tmp_path)), proc, commands)
    assert commands.run == [
        f"umount {tmp_path}/shm",
        f"umount {tmp_path}/shm",
        f"mount -t tmpfs -o rw,nosuid,nodev,noexec,relatime,size=1000k shm {tmp_path}/shm",
    ]
    assert (tmp_path / "shm").is_dir()


def test_a_busy_mount_is_left_to_those_who_use_it(tmp_path: Path, proc: Path) -> None:
    commands = Commands(f"umount {tmp_path}/shm")
    mount_shm(MpsRoot(str(tmp_path)), proc, commands)
    assert commands.run[:2] == [f"umount {tmp_path}/shm", f"umount --lazy {tmp_path}/shm"]
    assert commands.run[-1].startswith("mount -t tmpfs")


@pytest.mark.parametrize(("failing", "named"), [("umount", "umount --lazy"), ("mount", "mount -t tmpfs")])
def test_a_refused_mount_says_what_is_needed(tmp_path: Path, proc: Path, failing: str, named: str) -> None:
    with pytest.raises(MpsError, match=rf"`{named} .* failed: target is busy\. mount-shm needs a privileged container"):
        mount_shm(MpsRoot(str(tmp_path)), proc, Commands(failing))


def test_a_kernel_that_tells_nothing_leaves_the_fallback(tmp_path: Path) -> None:
    commands = Commands()
    mount_shm(MpsRoot(str(tmp_path)), tmp_path / "no-proc", commands)
    assert commands.run == [f"mount -t tmpfs -o rw,nosuid,nodev,noexec,relatime,size=65536k shm {tmp_path}/shm"]


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path, proc: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MpsError, match=r"file/shm cannot be created: Not a directory\. Mount the host's MPS directory"):
        mount_shm(MpsRoot(str(tmp_path / "file")), proc, Commands())


def in_a_namespace(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script with mounts of its own, or skip where that is not allowed."""
    unshare = ["unshare", "--mount", "--propagation=private"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    try:
        allowed = subprocess.run([*unshare, "mount", "-t", "tmpfs", "x", "/tmp"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if allowed.returncode != 0:
        pytest.skip(f"this machine allows no mounts in a namespace: {allowed.stderr.decode().strip()}")
    return subprocess.run([*unshare, "sh", "-euc", script], capture_output=True, text=True, check=False)


def half_of_memory() -> int:
    """Return how many bytes a tmpfs of half the machine's memory has: kernels give whole pages."""
    kib = int(re.search(r"^MemTotal:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)[1])  # type: ignore[index]
    page = os.sysconf("SC_PAGE_SIZE")
    return -(-(kib // 2 * 1024) // page) * page


def test_the_program_mounts_once_however_often_it_runs(tmp_path: Path) -> None:
    done = in_a_namespace(
        f"""
        for _ in 1 2 3; do {PROGRAM} mount-shm --mps-root-ctr={tmp_path}; done
        mount -t tmpfs left-over {tmp_path}/shm
        MPS_ROOT_CTR={tmp_path} {PROGRAM} mount-shm
        grep ' {tmp_path}/shm ' /proc/self/mountinfo
        {sys.executable} -c 'import os; s = os.statvfs("{tmp_path}/shm"); print(s.f_blocks * s.f_frsize)'
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    mount, size = done.stdout.splitlines()
    # The mount's own options name no size where it is the kernel's default, half of all pages.
    assert re.search(r" rw,nosuid,nodev,noexec,relatime .*- tmpfs shm rw", mount)
    assert int(size) == half_of_memory()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may mount")
def test_the_program_without_privilege_says_what_it_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "mount-shm", f"--mps-root-ctr={tmp_path}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "mount-shm needs a privileged container" in done.stderr
