"""`mount-shm`: mount the shared memory of MPS servers and clients, before the daemon's container starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_core.command import Invocation, Subcommand
from gpu_core.config.programs import settings as common_settings
from gpu_core.errors import MpsError
from gpu_core.mps import MpsRoot
from gpu_core.runtime.process import Completed
from gpu_core.runtime.process import run as run_process
from mps_control_daemon.shm import plan_shm

_TIMEOUT = 30.0

Run = Callable[[Sequence[str]], Completed]


@dataclass(frozen=True, slots=True, kw_only=True)
class MountShmSettings:
    """The flags of mount-shm."""

    mps_root_ctr: str = common_settings.mps_root_ctr()


def run(invocation: Invocation) -> int:
    """Mount the shared memory below the MPS root. Raises SuiteError."""
    settings: MountShmSettings = invocation.own_settings()
    mount_shm(MpsRoot(settings.mps_root_ctr), Path("/proc"), lambda argv: run_process(argv, timeout=_TIMEOUT))
    return 0


def mount_shm(root: MpsRoot, proc: Path, run_: Run) -> None:
    """Mount the shared memory, whatever was mounted there before. Raises SuiteError."""
    directory = Path(root.shm).resolve()
    plan = plan_shm(str(directory), meminfo=_text(proc / "meminfo"), mountinfo=_text(proc / "self/mountinfo"))
    for _ in range(plan.unmounts):
        # Clients that still use the old memory keep it until they end.
        if run_(plan.unmount).returncode != 0:
            _checked(plan.unmount_lazily, run_)
    try:
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise MpsError(
            f"{directory} cannot be created: {error.strerror}. Mount the host's MPS directory at {root.path}, writable."
        ) from error
    _checked(plan.mount, run_)


def _checked(argv: Sequence[str], run_: Run) -> None:
    done = run_(argv)
    if done.returncode != 0:
        reason = " ".join(done.stderr.split()).rstrip(".") or f"exit code {done.returncode}"
        raise MpsError(
            f"`{' '.join(argv)}` failed: {reason}. mount-shm needs a privileged container that has the host's MPS "
            "directory mounted with Bidirectional propagation."
        )


def _text(file: Path) -> str:
    """Return what a file of the kernel says; one that cannot be read says nothing."""
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


MOUNT_SHM = Subcommand(
    name="mount-shm",
    doc="Mount the shared memory through which MPS servers and their clients talk.",
    run=run,
    settings=MountShmSettings,
    examples=(("As the chart's init container does", "mount-shm"),),
)
