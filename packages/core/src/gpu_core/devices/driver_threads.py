"""Calls into a driver with a deadline: each job has a thread that may be left behind in the driver.

A driver answers when it likes: one broken GPU can hold a call for half a minute, or for ever, and no call can be taken
back. So nobody waits for a call but a thread that has nothing else to do. A job that is late is answered with a fault;
its thread is counted, and until it has come back nothing more is asked under the same key, so that the number of
threads in a driver is bounded by the number of GPUs.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gpu_core.devices.model import NO_ANSWER, Fault
from gpu_core.errors import Ending

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

DEADLINE = 3.0
"""Seconds that one GPU has for all that is asked of it at once."""

START_DEADLINE = 15.0
"""Seconds that a driver has to start: without a persistence daemon it wakes its GPUs first."""

_STALL = 0.05
"""Seconds after which a job no longer keeps the next one waiting: most drivers need one thread only."""

_here = threading.local()


@dataclass(eq=False, slots=True)
class _Job(Generic[K, T]):
    key: K
    function: Callable[[], T]
    began: float = math.inf
    call: str = ""
    answers: list[T] = field(default_factory=list)
    error: BaseException | None = None
    done: bool = False
    given_up: bool = False

    def outcome(self) -> T | Fault:
        """Return what came of it; raise what it raised."""
        if not self.done:
            return Fault(call=self.call, code=NO_ANSWER)
        if self.error is not None:
            raise self.error
        return self.answers[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckCall:
    """A call that has not returned in time: the C function, without `nvml`, and since when, in the clock's seconds."""

    call: str
    since: float


class DriverThreads:
    """The threads of one process that are inside of a driver. Any thread may ask.

    `deadline` is in seconds and counts from the moment at which a job begins, for each job anew. Once the program ends,
    every wait raises Ending.
    """

    def __init__(self, *, deadline: float = DEADLINE, clock: Callable[[], float] = time.monotonic) -> None:
        self._deadline = deadline
        self._clock = clock
        self._condition = threading.Condition()
        self._left: set[_Job[Any, Any]] = set()
        self._abandoned = False

    def run(self, key: Hashable, job: Callable[[], T], *, deadline: float | None = None) -> T | Fault:
        """Return what a job returns, or a fault with code NO_ANSWER when it is late; raise what it raises."""
        ((_, answer),) = self.each({key: job}, deadline=deadline)
        return answer

    def each(
        self, jobs: Mapping[K, Callable[[], T]], *, deadline: float | None = None
    ) -> Iterator[tuple[K, T | Fault]]:
        """Give the answer of each job as it comes; one that is late, or asks what did not answer before, is a fault."""
        limit = self._deadline if deadline is None else deadline
        with self._condition:
            busy = {job.key: job.call for job in self._left if job.key in jobs}
        waiting = deque(_Job(key, job) for key, job in jobs.items() if key not in busy)
        unfinished = list(waiting)
        for key, call in busy.items():
            yield key, Fault(call=call, code=NO_ANSWER)
        while unfinished:
            with self._condition:
                ended = self._wait(waiting, unfinished, limit)
            for job in ended:
                yield job.key, job.outcome()

    def abandon(self) -> None:
        """Let nobody wait for the driver any more, now or later: the program ends."""
        with self._condition:
            self._abandoned = True
            self._condition.notify_all()

    @property
    def abandoned(self) -> bool:
        """Whether nobody waits any more, so that it cannot be said whether the driver answers."""
        return self._abandoned

    def stuck(self) -> tuple[StuckCall, ...]:
        """Return the calls that did not return in time and are still in the driver."""
        with self._condition:
            return tuple(StuckCall(call=job.call, since=job.began) for job in self._left)

    def _wait(self, waiting: deque[_Job[K, T]], unfinished: list[_Job[K, T]], limit: float) -> tuple[_Job[K, T], ...]:
        """Return the jobs that ended, well or late, since the last time, and take them out of `unfinished`."""
        while True:
            if self._abandoned:
                waiting.clear()
                raise Ending
            now = self._clock()
            for job in unfinished:
                if not job.done and now - job.began >= limit:
                    job.given_up = True
                    self._left.add(job)
            ended = tuple(job for job in unfinished if job.done or job.given_up)
            if ended:
                unfinished[:] = [job for job in unfinished if job not in ended]
                return ended
            running = [job for job in unfinished if job.began < math.inf]
            if waiting and all(now - job.began >= _STALL for job in running):
                self._start(waiting, now)
                continue
            next_late = min((job.began + limit - now for job in running), default=limit)
            self._condition.wait(min(next_late, _STALL) if waiting else next_late)

    def _start(self, waiting: deque[_Job[K, T]], now: float) -> None:
        """Begin the next job in a thread, which goes on with the others when it is done."""
        job = waiting.popleft()
        job.began = now
        try:
            threading.Thread(target=self._work, args=(job, waiting), name="driver", daemon=True).start()
        except RuntimeError:
            # The machine has no thread left for us, which concerns this job and no other.
            job.given_up = True

    def _work(self, job: _Job[K, T], waiting: deque[_Job[K, T]]) -> None:
        while True:
            _here.job = job
            try:
                job.answers.append(job.function())
            except BaseException as error:  # noqa: BLE001  It is raised where the answer is waited for.
                job.error = error
            with self._condition:
                job.done = not job.given_up
                self._condition.notify_all()
                if job.given_up:
                    # Others have gone on in its place.
                    self._left.remove(job)
                    return
                if not waiting:
                    return
                job = waiting.popleft()
                job.began = self._clock()


def by_function(calls: Iterable[StuckCall]) -> list[tuple[dict[str, str], float]]:
    """Return how many calls are in each function, as samples for the metric of stuck calls."""
    return [({"call": call}, float(count)) for call, count in sorted(Counter(call.call for call in calls).items())]


def entering(call: str) -> None:
    """Take note of which C function this thread is about to be in, in case that it does not return."""
    job = getattr(_here, "job", None)
    if job is not None:
        job.call = call
