"""The pages of a server, each made in a thread of its own and one at a time.

So one that takes long, or never ends, keeps no other page from anybody, and holds one thread. Those who ask for a page
while it is being made share what is made next: however many they are, it is made for all of them once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from gpu_core.web.http_message import BROKEN, Answer, Encoded, encode

C = TypeVar("C")

Page = Callable[[], Answer]


@dataclass(slots=True, eq=False)
class _Making(Generic[C]):
    """A page; who waits for the one that is being made, if one is, and who waits for the next."""

    path: str
    page: Page
    busy: bool = False
    waiting: list[C] = field(default_factory=list)
    next: list[C] = field(default_factory=list)


class Pages(Generic[C]):
    """Makes pages for clients of any kind. One thread uses it.

    `failed` is told of a page whose function raised, and `ring` is called when a page is made; both by other threads.
    """

    def __init__(
        self, pages: Mapping[str, Page], *, failed: Callable[[str, Exception], object], ring: Callable[[], object]
    ) -> None:
        self._makings: dict[str, _Making[C]] = {path: _Making(path=path, page=page) for path, page in pages.items()}
        self._made: SimpleQueue[tuple[_Making[C], Encoded]] = SimpleQueue()
        self._failed = failed
        self._ring = ring

    @property
    def paths(self) -> tuple[str, ...]:
        """Where there are pages."""
        return tuple(self._makings)

    def ask(self, path: str, client: C) -> None:
        """Have a page made for a client; what comes of it is among `made`. Raises KeyError where there is none."""
        making = self._makings[path]
        making.next.append(client)
        self._begin(making)

    def forget(self, client: C) -> None:
        """Make nothing more for a client that has gone."""
        for making in self._makings.values():
            for clients in (making.waiting, making.next):
                if client in clients:
                    clients.remove(client)

    def made(self) -> Iterator[tuple[list[C], Encoded]]:
        """Give what was made since the last call, with those who asked for it."""
        while True:
            try:
                making, encoded = self._made.get_nowait()
            except Empty:
                return
            making.busy = False
            waiting, making.waiting = making.waiting, []
            self._begin(making)
            yield waiting, encoded

    def _begin(self, making: _Making[C]) -> None:
        if making.busy or not making.next:
            return
        making.busy = True
        making.waiting, making.next = making.next, []
        try:
            threading.Thread(target=self._make, args=(making,), name=f"page {making.path}", daemon=True).start()
        except RuntimeError as error:
            # The kernel has no room for a thread.
            self._failed(making.path, error)
            self._made.put((making, encode(BROKEN, now=time.time())))
            self._ring()

    def _make(self, making: _Making[C]) -> None:
        encoded = encode(BROKEN, now=time.time())
        try:
            encoded = encode(making.page(), now=time.time())
        except Exception as error:  # noqa: BLE001  A mistake in what is shown must not end what is done.
            self._failed(making.path, error)
        finally:
            self._made.put((making, encoded))
            self._ring()
