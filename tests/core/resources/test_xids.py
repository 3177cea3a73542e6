"""Which XIDs make a device sick."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gpu_core.config.model import Health
from gpu_core.resources import xids
from gpu_core.resources.xids import IGNORED_BY_DEFAULT, XidPolicy, xid_policy, xid_text

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "xids.md"


@pytest.mark.parametrize(
    ("disable", "enable", "health", "fatal", "harmless", "checks_nothing"),
    [
        pytest.param(None, None, {}, {0, 48, 79, 999}, IGNORED_BY_DEFAULT, False, id="the default list is ignored"),
        pytest.param("", "", {}, {48, 79}, IGNORED_BY_DEFAULT, False, id="empty variables change nothing"),
        pytest.param("79, 48", None, {}, {94}, {13, 48, 79}, False, id="disabled XIDs are ignored besides"),
        pytest.param(None, "13", {}, {13, 79}, {31}, False, id="an enabled XID overrides the default list"),
        pytest.param("79", "79", {}, {79}, {13}, False, id="enabled wins over disabled"),
        pytest.param("ALL", None, {}, set(), {13, 79}, True, id="all, in any case, turns every XID off"),
        pytest.param("79,xids", None, {}, set(), {13, 94}, True, id="xids means all wherever it stands"),
        pytest.param("all", "13", {}, {13}, {31, 79}, False, id="single XIDs can be enabled while all are off"),
        pytest.param("all", "all", {}, {13, 79}, set(), False, id="enabling all wins over disabling all"),
        pytest.param("79", "xids", {}, {13, 79}, set(), False, id="enabling all wins over every list"),
        pytest.param("0", None, {}, {79}, {0, 13}, False, id="disabling 0 concerns XID 0 alone"),
        pytest.param(None, "0", {}, {0, 13, 79}, set(), False, id="enabling 0 enables all, as in the original"),
        pytest.param("myxids,foo,-1,+5,0x4f,7_9,४", None, {}, {5, 79}, {13}, False, id="malformed items are skipped"),
        pytest.param(
            "18446744073709551615,18446744073709551616", None, {}, {2**64}, {2**64 - 1}, False, id="64 bits are enough"
        ),
        pytest.param(",,79,", None, {}, {48}, {79}, False, id="empty items are passed over in silence"),
        pytest.param(None, None, {"ignored_xids": (94,)}, {79}, {13, 94}, False, id="the config ignores further XIDs"),
        pytest.param(None, None, {"fatal_xids": (31,)}, {31, 79}, {13}, False, id="and makes ignored ones fatal"),
        pytest.param(
            None, None, {"ignored_xids": (31,), "fatal_xids": (31,)}, {31}, {13}, False, id="where fatal wins"
        ),
        pytest.param("31", None, {"fatal_xids": (31,)}, {79}, {31}, False, id="a variable wins over the config"),
        pytest.param("all", None, {"fatal_xids": (31,)}, set(), {31, 79}, True, id="and so does all"),
        pytest.param(None, "94", {"ignored_xids": (94,)}, {94}, {13}, False, id="an enabling variable does, too"),
    ],
)
def test_xids_are_fatal_or_harmless(  # noqa: PLR0917 - one row of the table.
    disable: str | None,
    enable: str | None,
    health: dict[str, Any],
    fatal: set[int],
    harmless: set[int],
    checks_nothing: bool,
) -> None:
    policy, _ = xid_policy(Health(**health), disable=disable, enable=enable)
    assert {xid for xid in fatal | harmless if policy.is_fatal(xid)} == fatal
    assert policy.checks_nothing is checks_nothing


def test_malformed_items_are_named_with_their_variable() -> None:
    _, warnings = xid_policy(Health(), disable="79,foo", enable="1x")
    assert warnings == (
        "DP_DISABLE_HEALTHCHECKS: 'foo' is no XID and is passed over. Write numbers separated by commas, or all.",
        "DP_ENABLE_HEALTHCHECKS: '1x' is no XID and is passed over. Write numbers separated by commas, or all.",
    )


def test_the_default_policy_is_the_one_without_config_and_variables() -> None:
    assert xid_policy(Health(), disable=None, enable=None) == (XidPolicy(), ())


def test_an_xid_is_told_by_number_and_name() -> None:
    assert (xid_text(79), xid_text(4711)) == ("XID 79 (GPU has fallen off the bus)", "XID 4711")


def test_the_reference_page_has_every_known_xid_and_what_is_done_with_it() -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| (sick|ignored) \|", REFERENCE.read_text(), re.MULTILINE)
    assert rows == [
        (str(number), name, "ignored" if number in IGNORED_BY_DEFAULT else "sick")
        for number, name in sorted(xids._NAMES.items())
    ]
