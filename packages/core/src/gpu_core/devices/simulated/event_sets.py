"""The event sets of a simulated node: which GPUs' events each of them gets, and those that nobody has taken yet.

GPUs are known by their UUIDs, since what else they are may change while an event waits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from gpu_core.devices.simulated.commands import Happen

_MOST_WAITING = 1024
"""Events that wait in a set; a driver too drops the oldest when nobody takes them."""


@dataclass(slots=True)
class _EventSet:
    masks: dict[str, int] = field(default_factory=dict)
    waiting: deque[tuple[str, Happen]] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))


class EventSets:
    """Whoever uses it holds the node's lock."""

    def __init__(self) -> None:
        self._sets: dict[int, _EventSet] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def open(self, number: int) -> None:
        """Begin a set."""
        self._sets[number] = _EventSet()

    def close(self, number: int) -> bool:
        """End a set; return whether it was there."""
        return self._sets.pop(number, None) is not None

    def register(self, number: int, gpu: str, mask: int) -> bool:
        """Let a set have the events of a GPU; return whether the set is there."""
        entry = self._sets.get(number)
        if entry is None:
            return False
        entry.masks[gpu] = entry.masks.get(gpu, 0) | mask
        return True

    def forget(self, gpu: str) -> None:
        """Let no set have the events of a GPU any more, nor those that wait."""
        for entry in self._sets.values():
            entry.masks.pop(gpu, None)
            kept = [(other, event) for other, event in entry.waiting if other != gpu]
            entry.waiting = deque(kept, maxlen=_MOST_WAITING)

    def happen(self, gpu: str, event: Happen) -> None:
        """Put an event of a GPU into each set that wants it."""
        for entry in self._sets.values():
            if entry.masks.get(gpu, 0) & event.kind:
                entry.waiting.append((gpu, event))

    def take(self, number: int) -> tuple[str, Happen] | None:
        """Return the oldest event of a set and remove it."""
        entry = self._sets.get(number)
        return entry.waiting.popleft() if entry is not None and entry.waiting else None
