"""The lines that make things happen to a simulated node while programs run.

    event TARGET xid=79 [gi=1 ci=0]      the driver reports an XID; `type=2 data=1` reports another event type
    fail CALL TARGET CODE [count=N]      an NVML call fails from now on, or N times: fail DeviceGetName 3 GPU_IS_LOST
    hang CALL TARGET SECONDS [count=N]   the next such call, or the next N, returns after so many seconds, `inf` never
    slow CALL TARGET SECONDS             each such call returns so many seconds later
    heal CALL|* [TARGET]                 it works again; calls that hang or are slow return at once
    recovery TARGET ACTION|unsupported   the driver's recovery action: none, reset, reboot, drain-p2p, drain-reset,
                                         recover-imex-domain, bus-reset, system-reboot, or NVML's number
    remove TARGET                        the GPU has left the bus; its handles are void, its events wanted by nobody
    add TARGET                           it is back, to be looked up and registered for anew
    mig TARGET [PROFILE …]               the GPU's new MIG devices; none at all, or `off` to end MIG

A target is a GPU's index or UUID, a MIG device's (`0:3` or UUID), or `*` for all. A call is an NVML function without
`nvml` and without version suffix.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gpu_core.devices.backend import RECOVERY_ACTIONS

ALL = "*"
OFF = "off"
XID_EVENT = 0x8
WHOLE_GPU = 0xFFFFFFFF

RECOVERY_NUMBERS = {action.value: number for number, action in RECOVERY_ACTIONS.items()}

_SAME = {
    "InitWithFlags": "Init",
    "DeviceGetGpuInstanceProfileInfoV": "DeviceGetGpuInstanceProfileInfo",
}
"""Functions that are other versions of one, though their names end otherwise."""

_LONGEST = 1_000_000
"""Seconds that a call may be told to take; what lasts longer than these eleven days is `inf`."""

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")

_ENTRY = re.compile(r"\S+(?: x[0-9]+(?!\S))?")

_CALL = re.compile(r"(?:nvml)?(\w+?)(?:_v\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Happen:
    """An event: NVML's type and data, and the instances that it concerns."""

    target: str
    kind: int
    data: int
    gpu_instance: int = WHOLE_GPU
    compute_instance: int = WHOLE_GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """A call that fails with a return value, named without its `NVML_ERROR_` prefix; `count` None: until healed."""

    call: str
    target: str
    code: str
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Calls that hang for `seconds`, which may be infinite: the next `count`."""

    call: str
    target: str
    seconds: float
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """A call that answers `seconds` late, which may be infinite, each time."""

    call: str
    target: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Heal:
    """Failures, hangs and slowness that end."""

    call: str
    target: str = ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover:
    """A new answer to the recovery action field; None for not supported."""

    target: str
    action: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """A GPU that goes away."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """A GPU that comes back."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """New MIG devices of a GPU."""

    target: str
    profiles: tuple[str, ...]


Command = Happen | Fail | Hang | Slow | Heal | Recover | Remove | Add | Partition


def parse_command(line: str) -> Command | None:
    """Return the command in a line; None for blank lines, comments and whatever is not understood."""
    words = line.split("#", maxsplit=1)[0].split()
    positional = [word for word in words if "=" not in word]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    try:
        return _parse(positional, options)
    except (ValueError, KeyError):
        return None


def _parse(words: list[str], options: dict[str, str]) -> Command | None:
    match words:
        case ["event", target]:
            return _event(target, options)
        case ["fail", call, target, code]:
            code = code.removeprefix("NVML_ERROR_").upper()
            return Fail(call=call_name(call), target=target, code=code, count=_count(options))
        case ["hang", call, target, seconds]:
            count = _count(options)
            return Hang(
                call=call_name(call), target=target, seconds=_seconds(seconds), count=1 if count is None else count
            )
        case ["slow", call, target, seconds]:
            return Slow(call=call_name(call), target=target, seconds=_seconds(seconds))
        case ["heal", call, *rest] if len(rest) <= 1:
            return Heal(call=ALL if call == ALL else call_name(call), target=rest[0] if rest else ALL)
        case ["recovery", target, action]:
            return Recover(target=target, action=None if action == "unsupported" else _action(action))
        case ["remove", target]:
            return Remove(target=target)
        case ["add", target]:
            return Add(target=target)
        case ["mig", target, *profiles]:
            # A profile and how often it comes are two words of one entry, as in a node's file: `1g.5gb x7`.
            entries = _ENTRY.findall(" ".join(profiles))
            return Partition(target=target, profiles=tuple(entries))
        case _:
            return None


def call_name(call: str) -> str:
    """Return an NVML function's name without `nvml` and without version suffix."""
    match = _CALL.fullmatch(call)
    name = call if match is None else match[1]
    return _SAME.get(name, name)


def _count(options: dict[str, str]) -> int | None:
    """Return how many calls a command is about, None where it does not say. Raises ValueError."""
    count = options.get("count")
    if count is None:
        return None
    if int(count) < 0:
        raise ValueError(count)
    return int(count)


def _seconds(word: str) -> float:
    """Return a time that a call takes. Raises ValueError for what is none."""
    if word == "inf":
        return math.inf
    if not _SECONDS.fullmatch(word) or float(word) > _LONGEST:
        raise ValueError(word)
    return float(word)


def _event(target: str, options: dict[str, str]) -> Happen:
    instances = {"gpu_instance": options.get("gi"), "compute_instance": options.get("ci")}
    placed = {name: int(text) for name, text in instances.items() if text is not None}
    if "xid" in options:
        return Happen(target=target, kind=XID_EVENT, data=int(options["xid"]), **placed)
    kind = int(options.get("type", str(XID_EVENT)), 0)
    return Happen(target=target, kind=kind, data=int(options.get("data", "0"), 0), **placed)


def _action(word: str) -> int:
    return int(word) if word.isdecimal() else RECOVERY_NUMBERS[word]
