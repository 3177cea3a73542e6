"""Asks the MPS control daemons behind the resources: before a resource is served, and then again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gpu_core.errors import ProcessError
from gpu_core.files import read_regular
from gpu_core.mps import CONTROL, HEALTH_QUESTION, DaemonPlan, MpsRoot, digest, unanswered
from gpu_core.mps.marks import MOST
from gpu_core.mps.readiness import DaemonSeen, obstacle, unusable
from gpu_core.runtime.file_watch import DirectoriesWatch
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.process import run

INTERVAL = 10.0
"""Seconds between two questions to a daemon whose resource is served."""

PATIENCE = 60.0
"""Seconds after which a daemon that is not ready is complained of."""

_TIMEOUT = 5.0
"""Seconds that a daemon has to answer."""


class MpsWatch:
    """Follows the daemons of the plans that it was given last. `ready` may be called from any thread.

    `root` is the shared MPS directory as we see it. `tell` is given every GPU that cannot be used though its resource
    is served, each with the reason, whenever these may have changed. `stirred` is called when a daemon has left another
    mark, for those who wait until it is ready.
    """

    def __init__(
        self,
        root: MpsRoot,
        tell: Callable[[Mapping[str, str]], object],
        *,
        stirred: Callable[[], object],
        interval: float = INTERVAL,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._tell = tell
        self._stirred = stirred
        self._interval = interval
        self._patience = patience
        self._clock = clock
        self._log = get_logger()
        self._lock = threading.Lock()
        self._plans: Mapping[str, DaemonPlan] = {}
        self._waiting: dict[str, float] = {}
        self._served: dict[str, Mapping[str, str]] = {}
        self._stopping = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._marks: DirectoriesWatch | None = None

    def follow(self, plans: tuple[DaemonPlan, ...]) -> None:
        """Go by these plans from now on."""
        with self._lock:
            self._plans = {plan.resource: plan for plan in plans}
            self._served = {name: reasons for name, reasons in self._served.items() if name in self._plans}
            self._tell_all()
        if plans and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mps-watch", daemon=True)
            self._thread.start()
            self._marks = DirectoriesWatch(self._directories, self._changed)
            self._marks.start()
        # Other plans may make of what is known something else.
        self._wake.set()

    def ready(self, resource: str) -> str | None:
        """Return what keeps a resource from being served; None for those not shared through MPS, or nothing."""
        plan = self._plans.get(resource)
        if plan is None:
            return None
        seen = self._look(plan)
        reasons = unusable(plan, self._digest(), seen)
        waited = self._clock() - self._waiting.setdefault(resource, self._clock())
        why = obstacle(plan, reasons, waited=waited, patience=self._patience)
        if why is not None:
            return why
        self._waiting.pop(resource, None)
        if seen.unmarked:
            self._log.warning(
                "The MPS control daemon does not say what it runs with; its limits are taken as they are",
                resource=resource,
            )
        self._note(plan, reasons)
        return None

    def stop(self) -> None:
        """Stop asking; returns when no question is under way."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        if self._marks is not None:
            self._marks.stop()

    def _run(self) -> None:
        while True:
            self._wake.wait(self._interval)
            self._wake.clear()
            for name in sorted(self._served):
                if self._stopping:
                    return
                plan = self._plans.get(name)
                if plan is not None:
                    self._note(plan, unusable(plan, self._digest(), self._look(plan)))
            if self._stopping:
                return

    def _directories(self) -> tuple[Path, ...]:
        """Return where marks are, and the directories above, as those of a resource are made when its daemon starts."""
        top = Path(self._root.path)
        below = [directory for name in self._plans for directory in Path(self._root.started(name)).parents]
        return (top, *(directory for directory in below if directory.is_relative_to(top)))

    def _changed(self) -> None:
        self._wake.set()
        self._stirred()

    def _note(self, plan: DaemonPlan, reasons: Mapping[str, str]) -> None:
        with self._lock:
            # What was found out by a plan that does not count any more is not worth telling.
            if self._plans.get(plan.resource) == plan:
                self._served[plan.resource] = reasons
                self._tell_all()

    def _tell_all(self) -> None:
        # Under the lock, so that what was found out last is also told last.
        found = {uuid: reason for reasons in self._served.values() for uuid, reason in reasons.items()}
        self._tell({uuid: f"its MPS control daemon cannot be used: {reason}" for uuid, reason in found.items()})

    def _look(self, plan: DaemonPlan) -> DaemonSeen:
        # In this order: what was read before the question might be of a daemon before the one that answers, and a
        # daemon makes its directory before its mark.
        reason = self._ask(plan)
        mark = _text(Path(self._root.started(plan.resource)))
        pipe = Path(self._root.pipe(plan.resource)).is_dir()
        return DaemonSeen(unanswered=reason, mark=mark, pipe=pipe, ready=_text(Path(self._root.ready)) or "")

    def _ask(self, plan: DaemonPlan) -> str | None:
        try:
            answer = run([CONTROL], timeout=_TIMEOUT, env=self._root.environment(plan.resource), text=HEALTH_QUESTION)
        except ProcessError as error:
            return str(error).rstrip(".")
        return unanswered(answer.returncode, answer.stdout, answer.stderr)

    def _digest(self) -> str:
        plans = self._plans  # One look: another thread may put others in its place.
        return digest(plans[name] for name in sorted(plans))


def _text(path: Path) -> str | None:
    """Return what a file holds, trimmed; None for a file that is missing or cannot be read."""
    try:
        return read_regular(path, most=MOST).decode().strip()
    except (OSError, ValueError):
        return None
