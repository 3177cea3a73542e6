"""Calls of the NVML binding whose failures are values or one exception, always with the name of the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pynvml

from gpu_core.devices.driver_threads import entering
from gpu_core.devices.model import Fault
from gpu_core.errors import NvmlCallError

T = TypeVar("T")

_PREFIX = "NVML_ERROR_"
_CODES = {getattr(pynvml, name): name.removeprefix(_PREFIX) for name in dir(pynvml) if name.startswith(_PREFIX)}

NOT_OFFERED = frozenset({"NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "ARGUMENT_VERSION_MISMATCH"})
"""What a driver says of a fact that it, or this GPU, does not have; any other failure says nothing about the fact."""


def attempt(call: str, function: Callable[..., T], *args: Any) -> T | Fault:
    """Return what a call answers, or its failure. `call` is the C function without `nvml` and version suffix."""
    entering(call)
    try:
        return function(*args)
    except pynvml.NVMLError as error:
        return Fault(call=call, code=_CODES.get(error.value, f"CODE_{error.value}"))
    except UnicodeDecodeError:
        # The binding decodes texts; a driver that returns junk has failed the call.
        return Fault(call=call, code="UNREADABLE_TEXT")


def ask(call: str, function: Callable[..., T], *args: Any) -> T:
    """Return what a call answers; raise NvmlCallError when it fails."""
    answer = attempt(call, function, *args)
    if isinstance(answer, Fault):
        raise NvmlCallError(f"{answer}.", call=answer.call, code=answer.code)
    return answer


class Facts:
    """Asks for the facts of one GPU or MIG device and gathers what failed."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The failures of calls that had to succeed."""
        return tuple(self._faults)

    def add(self, fault: Fault) -> None:
        """Note a failure that was met elsewhere."""
        self._faults.append(fault)

    def none_of(self, call: str) -> bool:
        """Whether this call has left no fault."""
        return all(fault.call != call for fault in self._faults)

    def need(self, call: str, function: Callable[..., T], *args: Any) -> T | None:
        """Return a fact that has to be there; None leaves a fault behind."""
        answer = attempt(call, function, *args)
        if isinstance(answer, Fault):
            self._faults.append(answer)
            return None
        return answer

    def need_if_offered(self, call: str, function: Callable[..., T], *args: Any) -> T | None:
        """Return a fact that not every GPU or driver has; only failures of another kind leave a fault."""
        answer = attempt(call, function, *args)
        if isinstance(answer, Fault):
            if answer.code not in NOT_OFFERED:
                self._faults.append(answer)
            return None
        return answer


def may(call: str, function: Callable[..., T], *args: Any) -> T | None:
    """Return a fact that nobody depends on; None when it cannot be had for any reason."""
    answer = attempt(call, function, *args)
    return None if isinstance(answer, Fault) else answer
