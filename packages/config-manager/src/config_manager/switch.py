"""Keeps the link, and the programs that read through it, in step with the node's label."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from config_manager.apply import EMPTY, config_names, copy_of, look, read_config, save_copy, take_steps
from config_manager.choose import Chosen, ChosenEmpty, NotChosen, Rules, check, choose
from config_manager.contest import Contest
from config_manager.find import signal_programs
from config_manager.plan import Found, Keep, Wish, plan
from gpu_core.errors import ConfigError
from gpu_core.runtime.pause import Pause, Retry

_ABSENT = Pause(first=0.5, longest=5.0)
"""Until a process that was not found is looked for again."""


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

    `in_use` is the config that this look has put in place or found there, None where it has done neither. With
    `changed`, it has another name or content than the last one; with `signal`, the programs have to be told of it;
    with `put_back`, somebody else had changed the link. `problem` says why what the label asks for is not in place,
    and is empty when it is.
    """

    in_use: Wish | None
    changed: bool = False
    signal: bool = False
    put_back: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """The signal went out to `pids`; those that are `refused` did not get it, for lack of permission."""

    pids: tuple[int, ...]
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotYet:
    """No process could be signalled; another try follows after `pause` seconds."""

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
        found = look(task.link)
        self._used = found.copy
        # An init container leaves the copy of what it applied, and the programs may have read that, so it counts.
        self._told = found.content if found.copy is None else found.copy
        self._name: str | None = None
        self._contest = Contest()
        self._owing_since: float | None = None
        self._absent = Retry(pause=_ABSENT)
        self._starting: tuple[int, ...] = ()
        self.deliver_at: float | None = None
        """When a signal is to be sent, by the clock of `settle`; None while none is owed."""

    def settle(self, label: str | None, now: float) -> Settled:
        """Choose a config for the label and put it in place. `now` is seconds of a monotonic clock."""
        aim = self._aim(label)
        found = look(self._task.link)
        problem = aim.problem if isinstance(aim, Keep) else ""
        if problem:
            aim = self._as_before(found) or aim
        wanted = aim.target if isinstance(aim, Wish) else None
        away = self._contest.found(found.target, now, wanted=wanted)
        if away and found.content not in (None, self._used):
            # The programs may have been told of what somebody else put there.
            self._told = None
        if self._contest.rests(now):
            return Settled(in_use=None, problem=self._contest.problem(self._task.link))
        steps = plan(aim, found, used=self._used, told=self._told, copy=str(copy_of(self._task.link)))
        try:
            take_steps(steps, self._task.link)
        except ConfigError as error:
            return Settled(in_use=None, problem=f"{problem} {error}".lstrip())
        self._contest.put(found.target if steps.target is None else steps.target, now)
        put_back = away and steps.target is not None
        problem = problem or self._contest.problem(self._task.link)
        if isinstance(aim, Keep):
            return Settled(in_use=None, put_back=put_back, problem=problem)
        changed = (aim.name, aim.content) != (self._name, self._used)
        self._take_note(aim, now)
        return Settled(in_use=aim, changed=changed, signal=steps.signal, put_back=put_back, problem=problem)

    def _take_note(self, wish: Wish, now: float) -> None:
        """Take note that a config is in place, and see whether the programs have to be told."""
        if not self._task.programs:
            self._told = wish.content
        if self._told == wish.content:
            self._owing_since = self.deliver_at = None
        elif self._owing_since is None or self._used != wish.content:
            self._owing_since = self.deliver_at = now
            self._absent.succeeded()
            self._starting = ()
        self._name, self._used = wish.name, wish.content

    def keep_copy(self) -> str | None:
        """Save what is in use; return why that failed, nothing when all is well, None while it has to wait.

        The copy is also what the next run takes for the config that the programs were told of, so it waits until they
        were: what a run that is killed before left undone is made up for then, by a signal too many at worst.
        """
        if self._used is None or self._used != self._told:
            return None
        try:
            if look(self._task.link).copy != self._used:
                save_copy(self._used, self._task.link)
        except ConfigError as error:
            return str(error)
        return ""

    def deliver(self, now: float) -> Delivery:
        """Send the signal that is owed. Call it when `deliver_at` has come."""
        task = self._task
        names = " or ".join(task.programs)
        try:
            sent = signal_programs(
                task.programs, task.signal, proc=task.proc, kill=self._kill, waited_for=self._starting
            )
        except OSError as error:
            problem = f"The processes cannot be seen in {task.proc}, so none was signalled: {error.strerror}."
        else:
            if sent.reached or sent.refused:
                self._done()
                refused = _refused(names, sent.refused)
                return Signalled(pids=sent.reached, refused=refused) if sent.reached else GivenUp(problem=refused)
            self._starting += sent.starting
            problem = _none_there(names, task.patience, starting=bool(sent.starting))
        if self._owing_since is not None and now - self._owing_since >= task.patience:
            self._done()
            return GivenUp(problem=problem)
        pause = self._absent.failed()
        self.deliver_at = now + pause
        return NotYet(pause=pause)

    def _done(self) -> None:
        self._told = self._used
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


def _none_there(names: str, patience: float, *, starting: bool) -> str:
    if starting:
        return (
            f"For {patience:g} s {names} was found only while it had just begun, so it was not signalled: it reads the "
            "new config by itself. See why it does not stay up."
        )
    return (
        f"No process {names} was found within {patience:g} s, so none was signalled. Share the process namespace of "
        "its pod and check --process-to-signal; a process that starts later reads the new config by itself."
    )


def _refused(names: str, pids: tuple[int, ...]) -> str:
    if not pids:
        return ""
    return (
        f"There is no permission to signal {names} (process {', '.join(map(str, pids))}). Run as the same user or with "
        "the capability KILL, or set --send-signal=false: the programs also notice a changed file by themselves."
    )
