"""The status page in a real browser, at the width of a desk and of a phone: nothing is cut off, broken or too small."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from device_plugin.status.page import node_page
from device_plugin.status.view import NodeView
from fakes.page_views import EMPTY, node

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH: apt-get install chromium")

SCREEN = 640
"""Pixels that a phone shows at once, from top to bottom."""

SMALLEST = 10.0
"""Pixels of the smallest letters that people read without zooming in."""

WIDTHS = (360, 400, 1280)
"""Pixels of phones and of a desk."""

SCHEMES = {"dark": 0, "light": 1}
"""Numbers of Chromium's for what a person prefers."""

MEASURE = Path(__file__).with_name("measure.js")


def measured(tmp_path: Path, view: NodeView, scheme: str) -> dict[str, dict[str, Any]]:
    """Return what a browser makes of the page in two widths."""
    page = html.escape(node_page(view), quote=True)
    frames = "".join(f'<iframe width="{width}" height="2000" srcdoc="{page}"></iframe>' for width in WIDTHS)
    wrapper = tmp_path / "wrapper.html"
    script = f"<script>onload = () => {{{MEASURE.read_text('utf-8')}}}</script>"
    wrapper.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{frames}{script}', "utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=1800,2400",
            "--virtual-time-budget=5000",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            "--dump-dom",
            wrapper.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r'<body[^>]* data-done="([^"]*)"', done.stdout)
    assert found is not None, done.stdout[:500] + done.stderr[-500:]
    result: dict[str, dict[str, Any]] = json.loads(html.unescape(found[1]))
    return result


@needs_chromium
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("view", "cards"),
    [pytest.param(node(16), 17, id="16 GPUs"), pytest.param(EMPTY, 0, id="a node without GPUs")],
)
def test_the_page_is_readable_on_a_desk_and_on_a_phone(tmp_path: Path, view: NodeView, cards: int, scheme: str) -> None:
    result = measured(tmp_path, view, scheme)
    for page in result.values():
        assert (page["scrolls"], page["cut"], page["faint"]) == (False, [], [])
        assert page["dark"] is (scheme == "dark")
        assert page["smallest"] >= SMALLEST
        assert page["cards"] == cards
        assert page["grid"] == (16 * 15 if cards else 0)
        assert page["broken"] == []
    assert [page["width"] for page in result.values()] == list(WIDTHS)
    if cards:
        assert [result["1280"]["columns"] >= 3, result["400"]["columns"], result["360"]["columns"]] == [True, 1, 1]
        assert result["360"]["first"] < SCREEN
