"""What is said about what happens, once per fact: log lines, numbers, and Events for those who want them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, Protocol, assert_never

from config_manager import metrics
from config_manager.standing import Standing
from config_manager.switch import Delivery, GivenUp, NotYet, Settled, Signalled
from config_manager.watch import LabelSeen, NodeGone, Sighting, Trouble
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.metrics import CONFIG
from gpu_core.runtime.once import Once


class Log(Protocol):
    """What is used of a logger."""

    def info(self, event: str, **facts: Any) -> Any:
        """Say what went as it should."""

    def warning(self, event: str, **facts: Any) -> Any:
        """Say what somebody should look at."""


class Poster(Protocol):
    """What is used of `gpu_cluster.node.events.NodeEvents`."""

    def post(self, *, warning: bool, reason: str, message: str) -> None:
        """Have an Event posted."""


class Reporter:
    """Says each fact when it becomes true, and not again while it stays so. `poster` is None without Events."""

    def __init__(self, log: Log, counters: Counters, poster: Poster | None, *, label: str) -> None:
        self._log = log
        self._counters = counters
        self._poster = poster
        self._label = label
        self._troubles = self._new_troubles()
        self._copy = Once(lambda problem: self._log.warning("the config in use cannot be copied", problem=problem))
        self._problem = ""
        self._searching = False
        self.standing = Standing()
        """What is true now, for those who ask from other threads."""

    def saw(self, sighting: Sighting) -> None:
        """Say what the API server says about the Node."""
        match sighting:
            case LabelSeen():
                self._log.info("the node was read", label=self._label, value=sighting.value)
                said = "without the label" if sighting.value is None else f"labelled {sighting.value!r}"
                self.standing = replace(self.standing, node=f"{said} ({self._label})", trouble="")
            case NodeGone():
                self._log.warning("the node does not exist; the config stays as it is until it does")
                self.standing = replace(self.standing, node="it does not exist at present", trouble="")
            case _:
                assert_never(sighting)

    def cannot_follow(self, trouble: Trouble) -> None:
        """Say that the Node cannot be followed, once for each reason."""
        self._counters.add(metrics.WATCH_FAILURES)
        self.standing = replace(self.standing, trouble=trouble.problem)
        self._troubles(trouble.problem)

    def follows(self) -> None:
        """Say that the Node is followed again."""
        self._troubles = self._new_troubles()
        self.standing = replace(self.standing, trouble="")
        self._log.info("the node is followed again")

    def settled(self, settled: Settled) -> None:
        """Say which config is in use now, or why none or not another one."""
        if settled.put_back and not settled.problem:
            self._log.warning("something else had changed the link; it was put back")
        if settled.problem and settled.problem != self._problem:
            self._counters.add(metrics.REFUSED)
            self._log.warning("the config stays as it is", problem=settled.problem)
            self._post(warning=True, reason="GpuConfigRefused", message=settled.problem)
        solved = self._problem and not settled.problem
        self._problem = settled.problem
        self.standing = replace(self.standing, problem=settled.problem)
        self._counters.set(metrics.AS_ASKED, float(not settled.problem))
        used = settled.in_use
        if used is None:
            return
        name = used.name or "(empty)"
        self.standing = replace(self.standing, config=name, why=used.why)
        digest = hashlib.sha256(used.content).hexdigest()
        self._counters.replace(CONFIG, [({"name": used.name, "digest": digest}, 1.0)])
        if settled.changed or solved:
            self._log.info("config in use", config=name, why=used.why, changed=settled.signal)
        if settled.changed:
            self._counters.add(metrics.APPLIED)
            if settled.signal:
                message = f"The GPU config {name} is in use: {used.why}."
                self._post(warning=False, reason="GpuConfigApplied", message=message)

    def kept(self, problem: str) -> None:
        """Say that the copy of the config in use cannot be kept, and its end."""
        if self._copy(problem, topic="copy"):
            self.standing = replace(self.standing, copy=problem)
        elif not problem and self.standing.copy:
            self.standing = replace(self.standing, copy="")
            self._log.info("the config in use is copied again")

    def delivered(self, delivery: Delivery, programs: str) -> None:
        """Say what came of the signal."""
        match delivery:
            case Signalled():
                self._counters.add(metrics.SIGNALS, len(delivery.pids))
                self._log.info("signalled", program=programs, processes=list(delivery.pids))
                if delivery.refused:
                    self._log.warning("not all were signalled", problem=delivery.refused)
                self._told(f"{programs} was signalled. {delivery.refused}".rstrip())
            case NotYet() if self._searching:
                pass
            case NotYet():
                self._log.info("no process to signal yet; looking again", program=programs)
                self._told(f"{programs} is looked for")
            case GivenUp():
                self._counters.add(metrics.GIVEN_UP)
                self._log.warning("not signalled", problem=delivery.problem)
                self._told(delivery.problem)
            case _:
                assert_never(delivery)
        self._searching = isinstance(delivery, NotYet)

    def _new_troubles(self) -> Once:
        """Say each trouble once until the node is followed again, however many take turns."""
        return Once(lambda problem: self._log.warning("the node cannot be followed; trying again", problem=problem))

    def _told(self, what: str) -> None:
        self.standing = replace(self.standing, signal=what)

    def _post(self, *, warning: bool, reason: str, message: str) -> None:
        if self._poster is not None:
            self._poster.post(warning=warning, reason=reason, message=message)
