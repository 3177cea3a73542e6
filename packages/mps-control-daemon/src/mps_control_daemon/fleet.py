"""The control daemons of a node, one for each shared resource: which run, which have to, and what tells that all do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpu_core.errors import MpsError, SuiteError
from gpu_core.files import write_atomically
from gpu_core.mps import DaemonPlan, MpsRoot, digest, is_same, shortcomings
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.probes import Check
from mps_control_daemon.compute_mode import ComputeModes
from mps_control_daemon.daemon import ControlDaemon
from mps_control_daemon.machine import Machine
from mps_control_daemon.supervised import Supervised


class Fleet:
    """One thread uses it. `write` is given what the daemons log. It starts by taking back that all is ready."""

    def __init__(
        self,
        root: MpsRoot,
        machine: Machine,
        *,
        write: Callable[[str], object],
        counters: Counters,
        clock: Callable[[], float],
    ) -> None:
        self._root = root
        self._machine = machine
        self._write = write
        self._counters = counters
        self._clock = clock
        self._log = get_logger()
        self._modes = ComputeModes(Path(root.compute_modes), machine, self._log.warning)
        self._daemons: dict[str, Supervised] = {}
        self._plans: tuple[DaemonPlan, ...] | None = None
        self._said: str | None = None
        self._unready()

    @property
    def empty(self) -> bool:
        """Whether there is no daemon to run."""
        return not self._daemons

    def checks(self) -> tuple[Check, ...]:
        """Return for each daemon whether it is ready, and why; any thread may ask."""
        daemons = sorted(dict(self._daemons).items())
        return tuple(Check(name=name, ok=daemon.ready, reason=daemon.reason) for name, daemon in daemons)

    def apply(self, plans: tuple[DaemonPlan, ...], *, lost: Collection[str], strictly: bool) -> None:
        """Run exactly these daemons; those that run as wanted are left alone.

        `lost` are GPUs that cannot be reached any more: no reason to restart a daemon, which would end the clients of
        all others. Not `strictly`, a daemon may also serve more GPUs than are wanted.
        """
        wanted = {plan.resource: plan for plan in plans}
        gone = dict.fromkeys(self._daemons.keys() - wanted.keys(), "its resource is not shared any more")
        changed = {
            name: "it has to run with other GPUs or limits"
            for name, daemon in self._daemons.items()
            if name in wanted and not _serves(daemon, wanted[name], lost, strictly=strictly)
        }
        if gone or changed or wanted.keys() - self._daemons.keys():
            self._unready()
        for name, reason in sorted({**gone, **changed}.items()):
            self._log.info("Stopping an MPS control daemon", resource=name, reason=reason)
        self._end(sorted({**gone, **changed}))
        if self._plans is None:
            self._clear_up(wanted)
        self._plans = plans
        for name, plan in sorted(wanted.items()):
            if name in self._daemons:
                self._daemons[name].want(plan)
            else:
                self._daemons[name] = self._supervised(plan)

    def step(self) -> None:
        """Start what is due to be started, look after what runs, and say whether all is ready. Raises MpsError."""
        for _, daemon in sorted(self._daemons.items()):
            daemon.step()
        if self._plans is not None and all(daemon.ready for daemon in self._daemons.values()):
            self._say_ready(digest(self._plans))
        else:
            self._unready()

    def stop(self) -> None:
        """Stop every daemon; the readiness file goes before."""
        try:
            self._unready()
        except MpsError as error:
            self._log.error("The readiness file is left behind", reason=str(error))
        self._end(sorted(self._daemons))

    def _end(self, names: Sequence[str]) -> None:
        """End daemons, all at once, and give their GPUs back as they were found; what fails is logged.

        The program may be told to end meanwhile: then they are still there, to be ended with the others.
        """
        failures = self._stop_together({name: self._daemons[name].daemon for name in names})
        self._modes.restore(uuid for name in names for uuid in self._daemons[name].uuids)
        for name in names:
            self._daemons.pop(name).ended(failures.get(name))

    def _stop_together(self, daemons: Mapping[str, ControlDaemon]) -> Mapping[str, SuiteError]:
        jobs = {name: daemon.stop for name, daemon in daemons.items()}
        # They end by themselves; this is for what cannot even be looked at.
        return self._machine.interruption.together(jobs, within=self._machine.grace.give_up + 1)

    def _clear_up(self, wanted: Mapping[str, DaemonPlan]) -> None:
        """End what an earlier run of ours left behind and is not wanted any more."""
        marked = {"/".join(mark.parts[-3:-1]) for mark in Path(self._root.path).glob("*/*/.started")}
        daemons = {resource: self._daemon(resource) for resource in sorted(marked - wanted.keys())}
        for resource in daemons:
            self._log.info("Stopping an MPS control daemon that was left behind", resource=resource)
        failures = self._stop_together(daemons)
        for resource, daemon in daemons.items():
            if resource in failures:
                reason = str(failures[resource])
                self._log.error("The MPS control daemon was not stopped", resource=resource, reason=reason)
            else:
                daemon.remove_logs()
        uuids = {uuid for plan in wanted.values() for uuid in plan.uuids}
        self._modes.restore(self._modes.left_over(uuids))

    def _supervised(self, plan: DaemonPlan) -> Supervised:
        daemon = self._daemon(plan.resource)
        return Supervised(daemon, plan, self._modes, write=self._write, counters=self._counters, clock=self._clock)

    def _daemon(self, resource: str) -> ControlDaemon:
        return ControlDaemon(resource=resource, root=self._root, machine=self._machine)

    def _say_ready(self, text: str) -> None:
        if text == self._said:
            return
        with self._writable():
            write_atomically(Path(self._root.ready), text.encode())
        self._said = text
        self._log.info("Ready: every MPS control daemon runs", resources=sorted(self._daemons))

    def _unready(self) -> None:
        with self._writable():
            Path(self._root.ready).unlink(missing_ok=True)
        self._said = None

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MpsError(
                f"{self._root.ready} cannot be changed: {error.strerror}. Mount the MPS root there, writable."
            ) from error


def _serves(daemon: Supervised, wanted: DaemonPlan, lost: Collection[str], *, strictly: bool) -> bool:
    """Whether a daemon may go on as it is; one that is down just starts with something else the next time."""
    running = daemon.running
    if running is None:
        return True
    return is_same(running, wanted, lost) if strictly else not shortcomings(running, wanted)
