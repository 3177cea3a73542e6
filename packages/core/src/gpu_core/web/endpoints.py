"""How a running program is watched from outside: one small HTTP server with its health, its numbers, its page."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_core.files import read_regular
from gpu_core.runtime.build import python_version, version
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.metrics import (
    BUILD,
    CONTENT_TYPE,
    CPU,
    FILES,
    LOST_LINES,
    MEMORY,
    READY,
    STARTED,
    TURNED_AWAY,
    metrics_text,
)
from gpu_core.runtime.once import Once
from gpu_core.runtime.outlet import lost_lines
from gpu_core.runtime.probes import Check, Checks, Pulse, all_ok, checks_text
from gpu_core.web.addresses import Address, parse_address
from gpu_core.web.http_message import BROKEN, HTML, JSON, Answer, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What a program offers to those who watch it. `program` is its command.

    `ready` gives what it needs, with reasons. `page` and `document` show it to a person and to a program. `collect` is
    called before the numbers are read, for those that are not kept as things happen.
    """

    program: str
    counters: Counters
    pulse: Pulse
    ready: Checks
    page: Callable[[], str]
    document: Callable[[], dict[str, Any]]
    collect: Callable[[], object] = lambda: None


@contextlib.contextmanager
def answering(address: str, endpoints: Endpoints) -> Iterator[int | None]:
    """Answer on `address` while the block runs; gives the port, None where nobody can be answered yet.

    Without an address nobody is answered. Whatever goes wrong is said once, and the block runs on: an address that
    cannot be had is tried again, and of a page that cannot be made the answer says so. Raises UsageError for a text
    that is no address.
    """
    if not address:
        yield None
        return
    where = parse_address(address)
    # What it takes is paid by those who want it.
    from gpu_core.web.http import Listening, serving  # noqa: PLC0415
    from gpu_core.web.http_connections import Told  # noqa: PLC0415

    counters = endpoints.counters
    counters.set(BUILD, 1.0, program=endpoints.program, version=version(), python=python_version())
    said = _Said(where)
    pages = _pages(endpoints, said)
    listening = Listening(began=lambda port: said.began(port, tuple(pages)), impossible=said.impossible)
    told = Told(failed=said.failed, turned_away=lambda reason: counters.add(TURNED_AWAY, reason=reason))
    with serving(where, pages, listening=listening, told=told) as port:
        yield port


Page = Callable[[], Answer]


class _Said:
    """Says what goes wrong with a server when it begins, and not again while it lasts."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._log = get_logger()
        self._once = Once(self._log.warning)

    def began(self, port: int, pages: tuple[str, ...]) -> None:
        """Say that there is somebody to ask."""
        self._once.over(_LISTENING)
        self._log.info("Answering on HTTP", address=str(self._address), port=port, pages=list(pages))

    def impossible(self, error: Exception) -> None:
        """Say why there is nobody to ask."""
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        self._once(
            f"The address {self._address} cannot be listened on: {reason}. It is tried again until it can be. All else "
            "goes on, but probes fail: free it, or choose another with --metrics-address, or none with an empty one.",
            topic=_LISTENING,
        )

    def failed(self, what: str, error: Exception) -> None:
        """Say that a page, or what belongs to one, cannot be made."""

        def say(message: str) -> None:
            self._log.error(message, page=what, problem=repr(error), exc_info=error)

        self._once("A page could not be made", topic=what, say=say)

    @contextlib.contextmanager
    def failures_of(self, what: str) -> Iterator[None]:
        """Say that the block raised, and go on after it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  A mistake in what is shown must not end what is done.
            self.failed(what, error)
        else:
            self._once.over(what)


_LISTENING = "listening"


def _pages(endpoints: Endpoints, said: _Said) -> dict[str, Page]:
    def probe(checks: tuple[Check, ...]) -> Answer:
        return Answer(body=checks_text(checks), status=Status.OK if all_ok(checks) else Status.SERVICE_UNAVAILABLE)

    def document() -> Answer:
        return Answer(body=json.dumps(endpoints.document(), ensure_ascii=False, indent=2) + "\n", content_type=JSON)

    def told(path: str, page: Page) -> Page:
        def make() -> Answer:
            with said.failures_of(path):
                return page()
            return BROKEN

        return make

    pages: dict[str, Page] = {
        "/": lambda: Answer(body=endpoints.page(), content_type=HTML),
        "/healthz": lambda: probe((endpoints.pulse.check(),)),
        "/readyz": lambda: probe(endpoints.ready()),
        "/metrics": lambda: Answer(body=_metrics(endpoints, said), content_type=CONTENT_TYPE),
        "/status.json": document,
    }
    return {path: told(path, page) for path, page in pages.items()}


def _metrics(endpoints: Endpoints, said: _Said) -> str:
    # One number that cannot be had must not take away the others.
    with said.failures_of("/metrics: collect"):
        endpoints.collect()
    count_process(endpoints.counters)
    for stream, lines in lost_lines().items():
        endpoints.counters.set(LOST_LINES, float(lines), stream=stream)
    ready = False
    with said.failures_of("/metrics: ready"):
        ready = all_ok(endpoints.ready())
    endpoints.counters.set(READY, float(ready))
    return metrics_text(endpoints.counters.snapshot())


_LARGEST = 4096
"""Bytes of a file about our process that are read."""

_RESIDENT = 1
_START = 19
"""Field 22 of /proc/<pid>/stat, counted from what follows the program's name."""


def count_process(counters: Counters, proc: Path = Path("/proc/self")) -> None:
    """Set the numbers as they are now; what cannot be read is left away."""
    counters.set(CPU, time.process_time())
    try:
        pages = int(_fields(proc / "statm")[_RESIDENT])
        counters.set(MEMORY, float(pages * os.sysconf("SC_PAGE_SIZE")))
        counters.set(FILES, float(len(os.listdir(proc / "fd"))))  # noqa: PTH208  Only their number is wanted.
        ticks = int(_fields(proc / "stat")[_START])
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        counters.set(STARTED, round(time.time() - since_boot, 2))
    except (OSError, ValueError, IndexError):
        return


def _fields(file: Path) -> list[str]:
    # A program's name stands in brackets and may hold anything, blanks and brackets included.
    return read_regular(file, most=_LARGEST).decode("utf-8", "replace").rpartition(")")[2].split()
