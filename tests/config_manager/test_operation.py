"""What config-manager tells of itself while it runs: ready once the config is in place, and why not until then."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from fakes.api_faults import Refuse
from fakes.http_client import get, get_json, scrape
from fakes.managed_node import FILES, LABEL, Node

MakeNode = Callable[..., Node]


def test_readiness_follows_the_node_and_its_config(make_node: MakeNode) -> None:
    node = make_node(FILES, metrics_address="127.0.0.1:0")
    node.server.misbehave(Refuse(503), times=1_000_000)
    node.start()
    node.wait_until(lambda: node.http_port is not None and "503" in get(node.http_port, "/readyz").body)
    port = node.http_port
    assert (get(port, "/readyz").status, get(port, "/healthz").status) == (503, 200)
    node.server.behave()
    node.label("a")
    node.wait_until(lambda: get(port, "/readyz").status == 200)
    assert get(port, "/readyz").lines == [
        f"[+] node: labelled 'a' ({LABEL})",
        f"[+] config: a is in use: the node's label {LABEL} names it",
    ]
    node.label("nowhere")
    node.wait_until(lambda: get(port, "/readyz").status == 503)
    assert get(port, "/readyz").lines[1].endswith("; a stays in use")
    node.stop()


def test_numbers_move_as_configs_change(make_node: MakeNode) -> None:
    node = make_node(FILES, metrics_address="127.0.0.1:0")
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.wait_until(lambda: "config_manager_signals_total" in scrape(node.http_port))
    first = scrape(node.http_port)
    node.label("b")
    node.wait_told(FILES["b"], 2)
    node.wait_until(lambda: scrape(node.http_port)["config_manager_signals_total"][()] == 2)
    second = scrape(node.http_port)
    node.label("nowhere")
    node.wait_until(lambda: "config_manager_configs_refused_total" in scrape(node.http_port))
    third = scrape(node.http_port)
    node.stop()
    names = ("config_manager_configs_applied_total", "config_manager_config_as_asked", "gpu_suite_ready")
    assert [[numbers[name][()] for name in names] for numbers in (first, second, third)] == [
        [1, 1, 1],
        [2, 1, 1],
        [2, 0, 0],
    ]
    digest = hashlib.sha256(FILES["b"].encode()).hexdigest()
    assert third["gpu_suite_config_info"] == {(digest, "b"): 1}


def test_the_page_shows_the_config_in_use(make_node: MakeNode) -> None:
    node = make_node(FILES, metrics_address="127.0.0.1:0")
    node.label("a")
    node.start()
    node.wait_for("a", FILES["a"])
    node.wait_until(lambda: node.http_port is not None and get(node.http_port, "/readyz").status == 200)
    page, document = get(node.http_port, "/"), get_json(node.http_port)
    node.stop()
    assert "Config manager on a" in page.body
    assert document["facts"]["Config"] == "a"
