"""Keeps the link, and the programs that read through it, in step with the node's label."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from config_manager.apply import EMPTY, config_names, copy_of, look, read_config, read_copy, take_steps
from config_manager.check import check
from config_manager.choose import Chosen, ChosenEmpty, NotChosen, Rules, choose
from config_manager.find import signal_programs
from config_manager.plan import Found, Keep, Plan, Wish, plan
from gpu_core.errors import ConfigError

FIRST_RETRY = 0.5
"""Seconds until a process that was not found is looked for again; doubles each time."""

LONGEST_RETRY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to keep in step. `directory` holds the configs, `link` is what the programs read.

    `programs` are signalled with `signal`, none when it is empty, and looked for at most `patience` seconds.
    `checked` tells whether a file has to pass our check before it is used. `proc` is where processes are found.
    """

    rules: Rules
    directory: Path
    link: Path
    programs: tuple[str, ...]
    signal: int
    checked: bool
    proc: Path
    patience: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What came of a look at label and files.

    `problem` says why what the label asks for is not in place, and is empty when it is. `aim` is what was aimed at
    instead: with a problem, the config that was in use before, as far as its file can still be used.
    """

    aim: Wish | Keep
    steps: Plan
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """The signal went out to these processes."""

    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotYet:
    """No process was found; another look follows after `pause` seconds."""

    pause: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """The signal cannot be delivered; `problem` says why and what to do."""

    problem: str


Delivery = Signalled | NotYet | GivenUp


class Switch:
    """Remembers what was applied last and what the programs were told. One thread uses it."""

    def __init__(self, task: Task, *, kill: Callable[[int, int], object] = os.kill) -> None:
        self._task = task
        self._kill = kill
        self._good = read_copy(task.link)
        # An init container leaves the copy of what it applied, and the programs may have read that, so it counts.
        self._told = look(task.link).content if self._good is None else self._good
        self._name: str | None = None
        self._owing_since: float | None = None
        self._pause = FIRST_RETRY
        self.deliver_at: float | None = None
        """When a signal is to be sent, by the clock of `settle`; None while none is owed."""

    def settle(self, label: str | None, now: float) -> Settled:
        """Choose a config for the label and put it in place. `now` is seconds of a monotonic clock."""
        aim = self._aim(label)
        found = look(self._task.link)
        problem = aim.problem if isinstance(aim, Keep) else ""
        if problem:
            aim = self._as_before(found) or aim
        copy = str(copy_of(self._task.link))
        steps = plan(aim, found, good=self._good, told=self._told, copy=copy)
        try:
            take_steps(steps, self._task.link)
        except ConfigError as error:
            return Settled(aim=aim, steps=steps, problem=str(error))
        if isinstance(aim, Keep):
            return Settled(aim=aim, steps=steps, problem=problem)
        self._name = aim.name
        if not self._task.programs:
            self._told = aim.content
        if self._told == aim.content:
            self._owing_since = self.deliver_at = None
        elif self._owing_since is None or self._good != aim.content:
            self._owing_since = self.deliver_at = now
            self._pause = FIRST_RETRY
        self._good = aim.content
        return Settled(aim=aim, steps=steps, problem=problem)

    def deliver(self, now: float) -> Delivery:
        """Send the signal that is owed. Call it when `deliver_at` has come."""
        task = self._task
        sent = signal_programs(task.programs, task.signal, proc=task.proc, kill=self._kill)
        names = " or ".join(task.programs)
        if sent.reached:
            self._done()
            return Signalled(pids=sent.reached)
        if sent.refused:
            self._done()
            pids = ", ".join(map(str, sent.refused))
            return GivenUp(
                problem=f"There is no permission to signal {names} (process {pids}). Run as the same user or with the "
                "capability KILL, or set --send-signal=false: the programs also notice a changed file by themselves."
            )
        if self._owing_since is not None and now - self._owing_since >= task.patience:
            self._done()
            return GivenUp(
                problem=f"No process {names} was found within {task.patience:g} s, so none was signalled. Share the "
                "process namespace of its pod and check --process-to-signal; a process that starts later reads the "
                "new config by itself."
            )
        pause, self._pause = self._pause, min(LONGEST_RETRY, self._pause * 2)
        self.deliver_at = now + pause
        return NotYet(pause=pause)

    def _done(self) -> None:
        self._told = self._good
        self._owing_since = self.deliver_at = None

    def _aim(self, label: str | None) -> Wish | Keep:
        task = self._task
        try:
            choice = choose(label, config_names(task.directory), task.rules)
            match choice:
                case NotChosen():
                    return Keep(problem=choice.problem)
                case ChosenEmpty():
                    return self._wish("", choice.why)
                case Chosen():
                    return self._wish(choice.name, choice.why)
                case _:
                    assert_never(choice)
        except ConfigError as error:
            return Keep(problem=str(error))

    def _wish(self, name: str, why: str) -> Wish:
        """Return the config of that name, the empty one for no name. Raises ConfigError when it cannot be used."""
        if not name:
            return Wish(name="", why=why, target=EMPTY, content=b"")
        path = self._task.directory / name
        content = read_config(path)
        errors = check(content, str(path), self._task.programs) if self._task.checked else ()
        if errors:
            raise ConfigError(f"The config {name!r} has errors and is not used.", errors)
        return Wish(name=name, why=why, target=str(path), content=content)

    def _as_before(self, found: Found) -> Wish | None:
        """Return the config that was in use before, with what its file holds now, if it can still be used."""
        name = self._name
        if name is None and found.target is not None:
            # An init container, or the run before this one, has chosen.
            target = Path(found.target)
            name = "" if found.target == EMPTY else target.name if target.parent == self._task.directory else None
        if name is None:
            return None
        try:
            return self._wish(name, "it was in use before")
        except ConfigError:
            return None
