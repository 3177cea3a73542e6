"""What is wrong with a configuration, in order, each with its place and its weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from gpu_core.config.layers import Position, Source


def shortened(text: str) -> str:
    """Return a text short enough for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def printable(text: str) -> str:
    r"""Return a text on one line, with `\x1b` and the like for what would steer a terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fact about one place.

    `where` is what is talked about: the dotted path of a key, a flag or a variable; empty for the file as a whole.
    `source` is where it has to be mended; what only follows from several values counts as the file's.
    `fatal` problems keep the configuration from being used, the others are warnings that --config-strict makes fatal.
    `harmless` ones are told and never become fatal. `late` ones are fatal only after the configuration was logged.
    """

    message: str
    where: str = ""
    position: Position | None = None
    source: Source = Source.FILE
    fatal: bool = True
    harmless: bool = False
    late: bool = False

    def __str__(self) -> str:
        parts = [str(part) for part in (self.position, self.where) if part]
        return printable(": ".join([*parts, self.message]))


@dataclass(frozen=True, slots=True)
class Problems:
    """Problems in the order in which they were found."""

    items: tuple[Problem, ...] = ()

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __add__(self, other: Iterable[Problem]) -> Self:
        return type(self)((*self.items, *other))

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Those that keep the configuration from being used."""
        return tuple(problem for problem in self.items if problem.fatal and not problem.late)

    @property
    def late(self) -> tuple[Problem, ...]:
        """Those that keep the configuration from being used once it has been logged."""
        return tuple(problem for problem in self.items if problem.fatal and problem.late)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Those that are only told."""
        return tuple(problem for problem in self.items if not problem.fatal)

    def strict(self) -> Self:
        """Return the same problems with all but the harmless made errors."""
        return type(self)(
            tuple(item if item.harmless else replace(item, fatal=True, late=False) for item in self.items)
        )

    def in_file_order(self) -> Self:
        """Return the same problems sorted by their place in the file, those without a place first."""

        def place(problem: Problem) -> tuple[int, int]:
            return (problem.position.line, problem.position.column) if problem.position else (0, 0)

        return type(self)(tuple(sorted(self.items, key=place)))
