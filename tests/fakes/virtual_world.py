"""Time that is not the machine's: of all threads one runs at a time, and when all of them wait, the clock jumps.

Minutes of waiting take no time at all, a busy machine changes nothing, and a seed decides who goes on where several
could, so that a failure can be seen again.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

_RESTLESS = 0.05
"""How often a thread that could go on lets another one go first."""

_GIVEN_UP = 60.0
"""Real seconds after which a thread that should have ended by itself is left alone."""


_TICK = 1e-6
"""Seconds that any wait takes at least."""

_MOST_TURNS = 100_000
"""How often threads may go on one after the other before time has to pass."""


class DeadlockError(AssertionError):
    """All threads wait, and none of them for a time; or they go on for ever without waiting for it."""


class OverError(BaseException):
    """Ends a thread with its world."""


class Fiber:
    """One thread: whether it could go on, and until when it waits otherwise."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate = threading.Semaphore(0)
        self.ready = True
        self.woken = True
        self.until = math.inf
        self.begun = self.ended = False
        self.joiners: list[Fiber] = []


class _Worker:
    """A thread of the machine, which runs one thread of the world after the other."""

    def __init__(self, world: World) -> None:
        self.gate = threading.Semaphore(0)
        self._world = world
        self._work: tuple[Fiber, Callable[[], object]] | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def take(self, fiber: Fiber, target: Callable[[], object]) -> None:
        """Run this next; whoever lets the fiber go on opens our gate."""
        self._work, fiber.gate = (fiber, target), self.gate

    def _run(self) -> None:
        while True:
            self.gate.acquire()
            if self._world.over or self._work is None:
                return
            (fiber, target), self._work = self._work, None
            self._world.run(fiber, target, self)


class World:
    """The thread that makes a world is the first one in it. `failures` are what threads ended with."""

    def __init__(self, seed: int = 0) -> None:
        self.now = 1000.0
        self.failures: list[BaseException] = []
        self._chance = random.Random(seed)
        self.over = False
        self._deadlock = False
        self._turns = 0
        self._here = threading.local()
        self._first = self._here.fiber = Fiber("first")
        self._fibers = [self._first]
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []

    def monotonic(self) -> float:
        """Return the time in this world, in seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass, for others too."""
        self.wait(self.after(seconds))

    def after(self, seconds: float) -> float:
        """Return when so many seconds will have passed; a wait for no time takes some too."""
        return self.now + max(seconds, _TICK)

    def unfinished(self) -> tuple[str, ...]:
        """Return the names of all threads, other than this one, that have not ended."""
        return tuple(fiber.name for fiber in self._fibers if fiber is not self._here.fiber)

    def wait(self, until: float, queue: list[Fiber] | None = None) -> bool:
        """Wait to be woken through a queue, or for a time; return whether we were woken."""
        me: Fiber = self._here.fiber
        if self.over:
            raise OverError
        me.ready, me.woken, me.until = False, False, until
        if queue is not None:
            queue.append(me)
        self._go_on(me)
        if queue is not None and me in queue:
            queue.remove(me)
        return me.woken

    def wake(self, fiber: Fiber) -> None:
        """Let a thread that waits go on."""
        fiber.ready = fiber.woken = True

    def pause(self) -> None:
        """Let another thread go first, now and then."""
        if self.over:
            raise OverError
        self._turns += 1
        if self._turns > _MOST_TURNS or self._chance.random() < _RESTLESS:
            self.wait(self.now)

    def mine(self) -> Fiber:
        """Return the thread that runs."""
        fiber: Fiber = self._here.fiber
        return fiber

    def close(self) -> None:
        """End every thread that is left."""
        self.over = True
        for fiber in self._fibers[1:]:
            fiber.gate.release()
        for worker in self._workers:
            worker.gate.release()
            worker.thread.join(_GIVEN_UP)

    def begin(self, fiber: Fiber, target: Callable[..., object], args: tuple[Any, ...]) -> None:
        """Start a thread, which goes on when it is its turn."""
        fiber.begun = True
        self._fibers.append(fiber)
        # Threads of the machine take long to start, so those that are through with their work do more of it.
        if not self._idle:
            worker = _Worker(self)
            self._workers.append(worker)
            self._idle.append(worker)
        self._idle.pop().take(fiber, partial(target, *args))

    def run(self, fiber: Fiber, target: Callable[[], object], worker: _Worker) -> None:
        """Run a thread to its end; called by a worker, when it is its turn."""
        self._here.fiber = fiber
        try:
            target()
        except OverError:
            pass
        except BaseException as error:  # noqa: BLE001  Whoever looks at the world has to see it.
            self.failures.append(error)
        fiber.ended = True
        self._fibers.remove(fiber)
        for joiner in fiber.joiners:
            self.wake(joiner)
        if not self.over:
            self._idle.append(worker)
            self._next().gate.release()

    def _go_on(self, me: Fiber) -> None:
        following = self._next()
        if following is not me:
            following.gate.release()
            me.gate.acquire()
        if self.over:
            raise OverError
        if self._deadlock and me is self._first:
            self._deadlock = False
            raise DeadlockError(", ".join(self.unfinished()))

    def _next(self) -> Fiber:
        """Return who goes on; when nobody can, time passes."""
        for fiber in self._fibers:
            fiber.ready = fiber.ready or fiber.until <= self.now
        ready = [fiber for fiber in self._fibers if fiber.ready]
        self._turns += 1
        if ready and self._turns < _MOST_TURNS:
            return self._chance.choice(ready)
        soonest = min(fiber.until for fiber in self._fibers)
        if math.isinf(soonest) or ready:
            self._deadlock = True
            return self._first
        self.now, self._turns = soonest, 0
        return self._next()
