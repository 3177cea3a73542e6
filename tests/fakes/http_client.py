"""Asks a program's HTTP server, as a probe or a scraper does."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from fakes.patience import PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was answered."""

    status: int
    body: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        return self.body.splitlines()


def get(port: int | None, path: str, method: str = "GET") -> Reply:
    """Ask a server on the loopback address for a page."""
    assert port is not None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return Reply(status=response.status, body=response.read().decode(), headers=dict(response.getheaders()))
    finally:
        connection.close()


def get_json(port: int | None, path: str = "/status.json") -> dict[str, Any]:
    """Ask for a document."""
    document: dict[str, Any] = json.loads(get(port, path).body)
    return document


def scrape(port: int | None) -> dict[str, dict[tuple[str, ...], float]]:
    """Scrape and parse with the official parser: the numbers by name, and by their label values in order of name."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(get(port, "/metrics").body):
        for sample in family.samples:
            values = tuple(value for _, value in sorted(sample.labels.items()))
            found.setdefault(sample.name, {})[values] = sample.value
    return found
