"""Which Events are to be posted, which are repetitions of one that is there, and which are too many. Pure.

As Kubernetes' own components do it: what is told again makes the count of its Event grow, and after 25 posts about a
node there is one more every five minutes. News that were never told have an allowance of their own, so that a GPU that
keeps turning unhealthy and healthy leaves the first word about its neighbour its place.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from gpu_cluster.node.event_document import News, Occurrences
from gpu_cluster.rate import TokenBucket

BURST = 25
"""Posts about one node at once, of news and of repetitions each."""

REFILL = 300.0
"""Seconds after which there may be one more of each."""

MOST_WAITING = 100
"""How many different Events wait to be posted; those beyond that are dropped, as nobody would read them."""

MOST_KNOWN = 500
"""How many Events are known by their names; repetitions of older ones become new Events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """An Event to post: a new one, or with `name` one more occurrence of the Event that has it."""

    news: News
    seen: Occurrences
    name: str = ""


class EventBook:
    """Keeps what was told of one node. Times are UTC, `clock` is seconds that only grow."""

    def __init__(self) -> None:
        self._known: OrderedDict[News, Occurrences] = OrderedDict()
        self._names: dict[News, str] = {}
        self._waiting: OrderedDict[News, None] = OrderedDict()
        self._first_words = TokenBucket(qps=1 / REFILL, burst=BURST)
        self._repetitions = TokenBucket(qps=1 / REFILL, burst=BURST)

    def tell(self, news: News, now: datetime, clock: float) -> bool:
        """Note news; return whether they will be posted. What is not is counted when the same is told again."""
        before = self._known.pop(news, None)
        first = now if before is None else before.first
        self._known[news] = Occurrences(count=1 + (0 if before is None else before.count), first=first, last=now)
        if news in self._waiting:
            return True
        if len(self._waiting) >= MOST_WAITING:
            self._forget()
            return False
        allowance = self._repetitions if news in self._names else self._first_words
        if not allowance.try_take(clock):
            self._forget()
            return False
        self._waiting[news] = None
        self._forget()
        return True

    def next(self) -> Due | None:
        """Return what waits longest; it waits on until it is `posted` or `dropped`."""
        news = next(iter(self._waiting), None)
        return None if news is None else Due(news=news, seen=self._known[news], name=self._names.get(news, ""))

    def posted(self, due: Due, name: str) -> None:
        """Note the name of the Event; what was told of it meanwhile waits on."""
        self._names[due.news] = name
        if self._known[due.news] == due.seen:
            self._waiting.pop(due.news, None)

    def expired(self, due: Due) -> None:
        """Note that the Event with that name is gone, as they all are after an hour: the next one is new."""
        self._names.pop(due.news, None)

    def dropped(self, due: Due) -> None:
        """Give up on what waits longest."""
        self._waiting.pop(due.news, None)

    @property
    def waiting(self) -> int:
        """How many Events wait."""
        return len(self._waiting)

    def _forget(self) -> None:
        """Forget what was told longest ago, beyond what is kept, but nothing that waits."""
        surplus = len(self._known) - MOST_KNOWN
        if surplus > 0:
            for news in [news for news in self._known if news not in self._waiting][:surplus]:
                del self._known[news]
                self._names.pop(news, None)
