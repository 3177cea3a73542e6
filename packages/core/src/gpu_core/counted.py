"""How many there are of something, as a person says it. Pure."""

from __future__ import annotations


def counted(count: int, thing: str) -> str:
    """Return the number with its noun: `1 GPU`, `2 GPUs`, `0 GPUs`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def all_of(count: int, thing: str) -> str:
    """Return what stands for all of these, with its verb: `The only GPU is`, `Both GPUs are`, `All 8 GPUs are`."""
    match count:
        case 1:
            return f"The only {thing} is"
        case 2:
            return f"Both {thing}s are"
    return f"All {count} {thing}s are"
