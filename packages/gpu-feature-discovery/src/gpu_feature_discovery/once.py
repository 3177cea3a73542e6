"""Says a thing once for as long as it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Once:
    """Passes messages on to `say` unless the pass before has said them too."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._said: frozenset[str] = frozenset()
        self._now: set[str] = set()

    def __call__(self, message: str) -> None:
        """Say a message of the current pass."""
        if message not in self._said and message not in self._now:
            self._say(message)
        self._now.add(message)

    def all(self, messages: Iterable[str]) -> None:
        """Say several."""
        for message in messages:
            self(message)

    def next_pass(self) -> None:
        """Begin another pass: what it does not repeat will be worth saying when it comes back."""
        self._said = frozenset(self._now)
        self._now = set()
