"""One resource's control daemon, kept running as it is wanted."""

from __future__ import annotations

from collections.abc import Callable

from gpu_core.counted import counted
from gpu_core.errors import SuiteError
from gpu_core.mps import DaemonPlan
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from mps_control_daemon.compute_mode import ComputeModes
from mps_control_daemon.daemon import ControlDaemon
from mps_control_daemon.logs import LogTail
from mps_control_daemon.metrics import DEATHS, START_FAILURES, UP
from mps_control_daemon.restarts import START_AGAIN, Restarts


class Supervised:
    """Starts a daemon, watches it, starts it again when it dies. One thread uses it.

    `write` is given what the daemon logs. `running` is the plan of the running daemon, None while it is down.
    `reason` says in words why it is ready, or why not.
    """

    def __init__(
        self,
        daemon: ControlDaemon,
        wanted: DaemonPlan,
        modes: ComputeModes,
        *,
        write: Callable[[str], object],
        counters: Counters,
        clock: Callable[[], float],
    ) -> None:
        self.running: DaemonPlan | None = None
        self.reason = "it is not started yet"
        self._wanted = wanted
        self.daemon = daemon
        self._modes = modes
        self._write = write
        self._counters = counters
        self._clock = clock
        self._log = get_logger(resource=daemon.resource)
        self._tail = LogTail(daemon.log, write)
        self._restarts = Restarts(due=clock())

    @property
    def ready(self) -> bool:
        """Whether the daemon runs and answered the last question."""
        return self.running is not None and not self._restarts.misses

    def want(self, plan: DaemonPlan) -> None:
        """Start with this plan from now on; a daemon that runs goes on."""
        if plan != self._wanted and self.running is None:
            self._restarts = Restarts(due=self._clock())
        self._wanted = plan

    def step(self) -> None:
        """Do what is due."""
        self._tail.forward()
        if self.running is None:
            if self._restarts.is_due(self._clock()):
                self._start()
        elif self.daemon.has_died():
            self._give_up("its process has ended")
        elif self._restarts.is_due(self._clock()):
            self._ask(self.running)
        self._counters.set(UP, float(self.ready), resource=self.daemon.resource)

    @property
    def uuids(self) -> tuple[str, ...]:
        """The GPUs that it runs with, or is to run with."""
        return self._wanted.uuids if self.running is None else self.running.uuids

    def ended(self, failure: SuiteError | None) -> None:
        """Take note that the daemon was stopped, or was not."""
        self.running = None
        if failure is not None:
            self._log.error("The MPS control daemon was not stopped", reason=str(failure))
        else:
            self._log.info("The MPS control daemon is stopped")
        self._tail.forward(to_the_end=True)
        self.daemon.remove_logs()
        self._counters.set(UP, 0.0, resource=self.daemon.resource)

    def _start(self) -> None:
        plan = self._wanted
        self._tail = LogTail(self.daemon.log, self._write)
        try:
            self.running = self.daemon.adopt(plan)
            adopted = self.running is not None
            if not adopted:
                self._modes.make_exclusive(plan.uuids)
                self.daemon.start(plan)
                self.running = plan
        except SuiteError as error:
            self._modes.restore(plan.uuids)
            self._restarts = self._restarts.start_failed(self._clock())
            self._counters.add(START_FAILURES, resource=plan.resource)
            self.reason = f"it cannot be started: {error}"
            self._log.error(
                f"The MPS control daemon cannot be started; retrying in {START_AGAIN:g} s", reason=str(error)
            )
            return
        self._restarts = self._restarts.started(self._clock())
        self.reason = _runs(plan)
        message = (
            "An MPS control daemon from before is still in order" if adopted else "An MPS control daemon was started"
        )
        self._log.info(message, devices=list(plan.uuids), replicas=plan.replicas)

    def _ask(self, running: DaemonPlan) -> None:
        reason = self.daemon.unanswered()
        now = self._clock()
        if reason is None:
            self._restarts = self._restarts.answered(now)
            self.reason = _runs(running)
            return
        self._restarts = self._restarts.missed(now)
        self.reason = f"it is not in order: {reason}"
        self._log.warning("The MPS control daemon is not in order", reason=reason)
        if self._restarts.hangs:
            self._give_up(reason)

    def _give_up(self, reason: str) -> None:
        self._counters.add(DEATHS, resource=self.daemon.resource)
        self._tail.forward()
        self.running = None
        self.reason = f"it is lost, and another one will be started: {reason}"
        now = self._clock()
        self._restarts = self._restarts.died(now)
        wait = self._restarts.due - now
        self._log.error(f"The MPS control daemon is lost; starting another one in {wait:g} s", reason=reason)


def _runs(plan: DaemonPlan) -> str:
    return f"it runs for {counted(len(plan.uuids), 'GPU')}, with up to {plan.replicas} clients each"
