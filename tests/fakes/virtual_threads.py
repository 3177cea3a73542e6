"""`threading` and `time` in a virtual world, and how modules come to use them."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any

from fakes.virtual_world import Fiber, World


@contextmanager
def living_in(world: World, *packages: str) -> Iterator[None]:
    """Let all modules of these packages that are imported already live in a world, until the block ends."""
    ours = {
        "threading": _module(
            threading,
            Lock=lambda: Lock(world, again=False),
            RLock=lambda: Lock(world, again=True),
            Condition=partial(Condition, world),
            Event=lambda: Event(world),
            Thread=partial(Thread, world),
            Timer=partial(Timer, world),
        ),
        "time": _module(time, monotonic=world.monotonic, sleep=world.sleep),
    }
    real = {"threading": threading, "time": time}
    undo: list[Callable[[], object]] = []
    try:
        for module in [module for name, module in sys.modules.items() if name.partition(".")[0] in packages]:
            for name in ("threading", "time"):
                if vars(module).get(name) is real[name]:
                    setattr(module, name, ours[name])
                    undo.append(partial(setattr, module, name, real[name]))
            for defaults in _defaults(module):
                for name in [name for name, value in defaults.items() if value is time.monotonic]:
                    defaults[name] = world.monotonic
                    undo.append(partial(defaults.__setitem__, name, time.monotonic))
        yield
    finally:
        for step in undo:
            step()


def _module(real: Any, **ours: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(real), **ours})


def _defaults(module: Any) -> Iterator[dict[str, Any]]:
    """Give the defaults of the keyword-only arguments of a module's methods, among which clocks are."""
    for thing in tuple(vars(module).values()):
        if isinstance(thing, type) and thing.__module__ == module.__name__:
            for function in vars(thing).values():
                if isinstance(function, FunctionType) and function.__kwdefaults__:
                    yield function.__kwdefaults__


class Lock:
    """A lock, which one thread may take several times where it says so."""

    def __init__(self, world: World, *, again: bool) -> None:
        self.world = world
        self.again = again
        self.owner: Fiber | None = None
        self.depth = 0
        self.queue: list[Fiber] = []

    def acquire(self, *, blocking: bool = True) -> bool:
        self.world.pause()
        me = self.world.mine()
        if not blocking and self.owner is not None and not (self.again and self.owner is me):
            return False
        while self.owner is not None and not (self.again and self.owner is me):
            self.world.wait(math.inf, self.queue)
        self.owner = me
        self.depth += 1
        return True

    def release(self) -> None:
        self.depth -= 1
        if not self.depth:
            self.owner = None
            if self.queue:
                self.world.wake(self.queue.pop(0))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def locked(self) -> bool:
        return self.owner is not None


class Condition:
    """A condition."""

    def __init__(self, world: World, lock: Lock | None = None) -> None:
        self.world = world
        self.lock = lock or Lock(world, again=True)
        self.queue: list[Fiber] = []
        self.acquire, self.release = self.lock.acquire, self.lock.release

    def __enter__(self) -> bool:
        return self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        depth, self.lock.depth = self.lock.depth, 1
        self.lock.release()
        try:
            return self.world.wait(math.inf if timeout is None else self.world.after(timeout), self.queue)
        finally:
            if not self.world.over:
                self.lock.acquire()
                self.lock.depth = depth

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        end = math.inf if timeout is None else self.world.now + timeout
        while not (result := predicate()) and self.world.now < end:
            self.wait(None if math.isinf(end) else end - self.world.now)
        return result

    def notify(self, count: int = 1) -> None:
        for fiber in self.queue[:count]:
            self.queue.remove(fiber)
            self.world.wake(fiber)

    def notify_all(self) -> None:
        self.notify(len(self.queue))


class Event:
    """An event."""

    def __init__(self, world: World) -> None:
        self.condition = Condition(world)
        self.given = False

    def is_set(self) -> bool:
        return self.given

    def set(self) -> None:
        with self.condition:
            self.given = True
            self.condition.notify_all()

    def clear(self) -> None:
        self.given = False

    def wait(self, timeout: float | None = None) -> bool:
        with self.condition:
            return bool(self.condition.wait_for(self.is_set, timeout))


class Thread:
    """A thread."""

    def __init__(
        self,
        world: World,
        *,
        target: Callable[..., object],
        args: tuple[Any, ...] = (),
        name: str = "thread",
        daemon: bool = False,
    ) -> None:
        self.world, self.target, self.args = world, target, args
        self.fiber = Fiber(name)

    def start(self) -> None:
        self.world.begin(self.fiber, self.target, self.args)

    def is_alive(self) -> bool:
        return self.fiber.begun and not self.fiber.ended

    def join(self, timeout: float | None = None) -> None:
        end = math.inf if timeout is None else self.world.now + timeout
        while self.is_alive() and self.world.now < end:
            self.world.wait(end, self.fiber.joiners)


class Timer(Thread):
    """A thread that does something after a time, unless that is called off."""

    def __init__(self, world: World, interval: float, function: Callable[[], object]) -> None:
        super().__init__(world, target=self._run)
        self.daemon = False
        self._interval, self._function = interval, function
        self._off = Event(world)

    def cancel(self) -> None:
        """Call it off."""
        self._off.set()

    def _run(self) -> None:
        if not self._off.wait(self._interval):
            self._function()
