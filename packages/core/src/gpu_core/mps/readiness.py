"""Whether GPUs that are shared through MPS can be used: judged from what their control daemon left behind and says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_core.mps import DaemonPlan, shortcomings
from gpu_core.mps.marks import read


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSeen:
    """What is known of one control daemon at a moment.

    `unanswered` is what is wrong with its answer to the health question, None where it answers as it should. `mark` is
    the text of its own mark, None where that is missing, and `pipe` whether its pipe directory exists; both as they
    were when it had answered or later, so that they are not those of a daemon before the one that answered. `ready` is
    the text of the readiness file, empty where that is missing.
    """

    unanswered: str | None
    mark: str | None
    pipe: bool
    ready: str

    @property
    def unmarked(self) -> bool:
        """Whether the daemon answers and says nothing of what it runs with, as the original's."""
        return self.unanswered is None and not self.starting and not self.mark and not self.ready

    @property
    def starting(self) -> bool:
        """Whether the daemon may be without its limits yet."""
        # Ours makes the directory before its mark. The original's marks itself, with an empty file, once it has its
        # limits. Where there is not even a directory, somebody else's daemon answers.
        return self.pipe if self.mark is None else bool(self.mark) and read(self.mark) is None


def unusable(plan: DaemonPlan, digest: str, seen: DaemonSeen) -> Mapping[str, str]:
    """Return the GPUs of a plan that cannot be used now, each with what keeps it.

    `digest` is that of all plans of the node. What a daemon's own mark says goes before the readiness file, so that
    one resource does not wait for another one's daemon. A daemon that answers and says nothing is taken as it is.
    """
    if seen.unanswered is not None:
        return dict.fromkeys(plan.uuids, seen.unanswered)
    if seen.starting:
        return dict.fromkeys(plan.uuids, "it is starting")
    running = read(seen.mark or "")
    if running is not None:
        return shortcomings(running, plan)
    if seen.ready and seen.ready != digest:
        return dict.fromkeys(plan.uuids, "it runs with another config or for other GPUs than we have")
    return {}


def obstacle(plan: DaemonPlan, reasons: Mapping[str, str], *, waited: float, patience: float) -> str | None:
    """Return why a resource is not served yet, as a sentence; None when at least one of its GPUs can be used.

    `waited` and `patience` are seconds.
    """
    if len(reasons) < len(plan.gpus):
        return None
    reason = "; ".join(dict.fromkeys(reasons.values()))
    if waited < patience:
        return f"Waiting for the MPS control daemon: {reason}"
    return (
        f"The MPS control daemon was not ready within {patience:g} s and is still waited for: {reason}. See the log of "
        "mps-control-daemon on this node, and whether both programs have the same config"
    )
