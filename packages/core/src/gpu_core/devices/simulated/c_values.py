"""The C arguments of NVML functions as the binding passes them: plain numbers, `byref` references and buffers."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any


def number(argument: Any) -> int:
    """Return a number that is passed by value."""
    return int(getattr(argument, "value", argument))


def text(argument: Any) -> bytes:
    """Return a C string."""
    return bytes(getattr(argument, "value", argument) or b"")


def address(argument: Any) -> int:
    """Return where a pointer points; 0 for what is no pointer."""
    # Casting it would tie the pointer to itself, so that it could not be freed at once.
    try:
        return int(c_void_p.from_buffer(argument).value or 0)
    except (TypeError, ValueError):
        return 0


def target(reference: Any) -> Any:
    """Return what `byref` refers to."""
    return reference._obj  # noqa: SLF001  The only way back from byref().


def put_number(reference: Any, value: int) -> None:
    """Write a number where a reference leads."""
    target(reference).value = value


def put_text(buffer: Any, value: str) -> None:
    """Write a C string into a buffer."""
    buffer.value = value.encode()


def put_pointer(reference: Any, value: int) -> None:
    """Let the pointer where a reference leads point to an address."""
    c_void_p.from_buffer(target(reference)).value = value
