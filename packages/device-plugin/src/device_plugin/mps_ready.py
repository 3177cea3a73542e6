"""Whether the MPS control daemon of a resource works, and with the limits that the config asks for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpu_core.errors import ProcessError
from gpu_core.mps import HEALTH_QUESTION, DaemonPlan, MpsRoot, digest
from gpu_core.runtime.process import run

_CONTROL = "nvidia-cuda-mps-control"
_TIMEOUT = 10.0


def mps_obstacle(plans: Iterable[DaemonPlan], resource: str, root: MpsRoot) -> str | None:
    """Return what keeps a resource that is shared through MPS from being served; None for all others, or nothing.

    `root` is the shared directory as we see it.
    """
    plan = next((plan for plan in plans if plan.resource == resource), None)
    if plan is None:
        return None
    written = _digest(Path(root.started(resource)))
    if written and written != digest([plan]):
        return "Waiting for the MPS control daemon, which runs with other devices or limits than the config asks for"
    try:
        answer = run([_CONTROL], timeout=_TIMEOUT, env=plan.environment(root), text=HEALTH_QUESTION)
    except ProcessError as error:
        return f"Waiting for the MPS control daemon: {error}"
    if answer.returncode != 0:
        said = answer.stderr.strip() or answer.stdout.strip() or f"exit code {answer.returncode}"
        return f"Waiting for the MPS control daemon, which does not answer: {said.splitlines()[-1]}"
    return None


def _digest(path: Path) -> str:
    """Return what our own daemon wrote into its mark; the original's mark is empty."""
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
