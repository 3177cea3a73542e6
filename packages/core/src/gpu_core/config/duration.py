"""Durations as Go writes them (`1h30m`, `1m0s`, `250ms`), exact to the nanosecond, and `infinite`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_LONGEST = 2**63 - 1
# No duration needs more, and int() should not see more.
_LONGEST_TEXT = 100
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_INFINITE = "infinite"


_SHORTEST_PERIOD = 0.1


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in whole nanoseconds; `Duration.infinite()` never ends."""

    nanoseconds: int

    @classmethod
    def of(cls, *, seconds: float) -> Self:
        """Return the duration of that many seconds."""
        return cls(round(seconds * 1_000_000_000))

    @classmethod
    def infinite(cls) -> Self:
        """Return the duration that never ends (the longest that Go can hold)."""
        return cls(_LONGEST)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a duration as Go's time.ParseDuration does, and the word `infinite`.

        Raises ValueError with the reason as its message.
        """
        if text == _INFINITE:
            return cls.infinite()
        digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
        sign = -1 if text.startswith("-") else 1
        if digits == "0":
            return cls(0)
        if not digits or len(text) > _LONGEST_TEXT:
            raise ValueError(f"{text[:_LONGEST_TEXT]!r} is no duration; write for example 90s, 1h30m or 250ms")
        total = sum(_nanoseconds(*part) for part in _parts(text, digits))
        # Go can hold one nanosecond more below zero than above.
        if total > _LONGEST + (sign < 0):
            raise ValueError(f"{text!r} is longer than 292 years")
        return cls(sign * total)

    @property
    def is_infinite(self) -> bool:
        """Whether it never ends."""
        return self.nanoseconds == _LONGEST

    @property
    def seconds(self) -> float:
        """The span in seconds."""
        return self.nanoseconds / 1_000_000_000

    @property
    def period(self) -> float:
        """Seconds between two turns of what is done this often: at least 0.1, as less would keep a processor busy."""
        return max(self.seconds, _SHORTEST_PERIOD)

    @property
    def is_too_short(self) -> bool:
        """Whether `period` is longer."""
        return self.seconds < _SHORTEST_PERIOD

    def __str__(self) -> str:
        if self.is_infinite:
            return _INFINITE
        sign = "-" if self.nanoseconds < 0 else ""
        span = abs(self.nanoseconds)
        if span == 0:
            return "0s"
        if span < _UNITS["s"]:
            unit = next(name for name in ("ms", "µs", "ns") if span >= _UNITS[name])
            return f"{sign}{_decimal(span, _UNITS[unit])}{unit}"
        minutes, rest = divmod(span, _UNITS["m"])
        hours, minutes = divmod(minutes, 60)
        tail = f"{_decimal(rest, _UNITS['s'])}s"
        if hours:
            return f"{sign}{hours}h{minutes}m{tail}"
        return f"{sign}{minutes}m{tail}" if minutes else f"{sign}{tail}"


def _parts(text: str, digits: str) -> list[tuple[int, str, int]]:
    """Split `1h1.5m` into whole number, decimals and length of the unit, or raise ValueError."""
    parts = []
    for match in _PART.finditer(digits):
        if not match.group():
            continue
        whole, decimals, unit = match[1], match[2] or "", match[3]
        if not whole and not decimals:
            raise ValueError(f"{text!r} is no duration; write for example 90s, 1h30m or 250ms")
        if not unit:
            raise ValueError(f"{text!r} lacks a unit; write for example {text}s or {text}m")
        if unit not in _UNITS:
            raise ValueError(f"{text!r} has the unknown unit {unit!r}; Go knows ns, us, ms, s, m and h")
        parts.append((int(whole or "0"), decimals, _UNITS[unit]))
    return parts


def _nanoseconds(whole: int, decimals: str, unit: int) -> int:
    # Decimals beyond the nanosecond are cut off, not rounded.
    return whole * unit + (int(decimals) * unit // 10 ** len(decimals) if decimals else 0)


def _decimal(span: int, unit: int) -> str:
    whole, rest = divmod(span, unit)
    if not rest:
        return str(whole)
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}d}".rstrip("0")
