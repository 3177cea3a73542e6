"""Says a thing once for as long as it holds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What was said of a topic last; `mention` grows with every mention, repeated or not."""

    message: str
    mention: int


class Once:
    """Passes messages on to `say` unless they have been said and still hold.

    A message is its own topic unless one is named; of a named topic only the last message holds, so that another one
    is news. What holds is forgotten by `over`, by `next_pass`, or, beyond the `most` topics, when it was mentioned
    longest ago: then it is said again. Threads may share one for different topics; passes are for one thread alone.
    """

    def __init__(self, say: Callable[[str], object], *, most: int = 1000) -> None:
        self._say = say
        self._most = most
        self._told: dict[str, _Told] = {}
        self._mentions = 0
        self._pass_began = 0

    def __call__(self, message: str, *, topic: str | None = None, say: Callable[[str], object] | None = None) -> bool:
        """Say a message, through `say` where that is another one; returns whether it was news.

        An empty message says nothing, and that its topic is over.
        """
        topic = message if topic is None else topic
        if not message:
            self.over(topic)
            return False
        news = self.last(topic) != message
        if news:
            (self._say if say is None else say)(message)
        # Only what was said counts as said. It replaces the former value in one step, for those who ask meanwhile.
        self._mentions += 1
        self._told[topic] = _Told(message=message, mention=self._mentions)
        if len(self._told) > self._most:
            oldest, _ = min(tuple(self._told.items()), key=lambda each: each[1].mention)
            self.over(oldest)
        return news

    def all(self, messages: Iterable[str], *, say: Callable[[str], object] | None = None) -> None:
        """Say several, each its own topic, through `say` where that is another one."""
        for message in messages:
            self(message, say=say)

    def last(self, topic: str) -> str:
        """Return what was said of a topic last; empty when nothing was, or when it is over."""
        told = self._told.get(topic)
        return "" if told is None else told.message

    def over(self, topic: str) -> bool:
        """End a topic: what comes next is news again. Returns whether there was something to end."""
        return self._told.pop(topic, None) is not None

    def next_pass(self) -> None:
        """Begin another pass: what the pass before said and this one did not is over."""
        self._told = {topic: told for topic, told in self._told.items() if told.mention > self._pass_began}
        self._pass_began = self._mentions
