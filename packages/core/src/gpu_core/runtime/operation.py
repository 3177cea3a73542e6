"""How a running program is watched from outside: one small HTTP server with its health, its numbers, its page."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from gpu_core.runtime.addresses import parse_address
from gpu_core.runtime.build import python_version, version
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.metrics_text import CONTENT_TYPE, metrics_text
from gpu_core.runtime.probes import Check, Checks, Pulse, all_ok, checks_text
from gpu_core.runtime.process_facts import count_process
from gpu_core.runtime.suite_metrics import BUILD, CONFIG, READY


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
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
def operated(address: str, operation: Operation) -> Iterator[int | None]:
    """Answer on `address` while the block runs; gives the port, None without an address. Raises UsageError."""
    if not address:
        yield None
        return
    # Its 15 ms and 2 MiB are paid by those who want it.
    from gpu_core.runtime.http import HTML, JSON, Answer, serving  # noqa: PLC0415

    log = get_logger()

    def probe(checks: tuple[Check, ...]) -> Answer:
        status = HTTPStatus.OK if all_ok(checks) else HTTPStatus.SERVICE_UNAVAILABLE
        return Answer(body=checks_text(checks), status=status)

    def document() -> Answer:
        return Answer(body=json.dumps(operation.document(), ensure_ascii=False, indent=2) + "\n", content_type=JSON)

    pages = {
        "/": lambda: Answer(body=operation.page(), content_type=HTML),
        "/healthz": lambda: probe((operation.pulse.check(),)),
        "/readyz": lambda: probe(operation.ready()),
        "/metrics": lambda: Answer(body=_metrics(operation), content_type=CONTENT_TYPE),
        "/status.json": document,
    }

    def failed(path: str, error: Exception) -> None:
        log.error("A page could not be made", path=path, exc_info=error)

    operation.counters.set(BUILD, 1.0, program=operation.program, version=version(), python=python_version())
    with serving(parse_address(address), pages, failed=failed) as port:
        log.info("Answering on HTTP", address=address, port=port, pages=list(pages))
        yield port


def count_config(counters: Counters, file: str, digest: str) -> None:
    """Note which config file is in use; `digest` is that of its text, and an empty `file` means none."""
    counters.replace(CONFIG, [({"name": config_name(file), "digest": digest if file else ""}, 1.0)])


def config_name(file: str) -> str:
    """Return the name by which a config is known: that of the file at the end of all links, as config-manager sets."""
    if not file:
        return ""
    try:
        return Path(file).resolve().name
    except OSError:
        return Path(file).name


def _metrics(operation: Operation) -> str:
    operation.collect()
    count_process(operation.counters)
    operation.counters.set(READY, float(all_ok(operation.ready())))
    return metrics_text(operation.counters.snapshot())
