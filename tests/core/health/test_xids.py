"""Which XIDs make a device unhealthy, and what is said of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.config.health import Health
from gpu_core.config.words import XidDefaults
from gpu_core.health.catalogue import XIDS, xid_advice, xid_text
from gpu_core.health.reference import xids_page
from gpu_core.health.xids import IGNORED_BY_CATALOGUE, IGNORED_BY_ORIGINAL, XidPolicy, policy_text, xid_policy

CATALOGUE = {"xid_policy": XidDefaults.CATALOGUE}
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "xids.md"


@pytest.mark.parametrize(
    ("disable", "enable", "health", "fatal", "harmless", "checks_nothing"),
    [
        pytest.param(None, None, {}, {0, 48, 79, 999}, IGNORED_BY_ORIGINAL, False, id="the default list is ignored"),
        pytest.param("", "", {}, {48, 79}, IGNORED_BY_ORIGINAL, False, id="empty variables change nothing"),
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
        pytest.param(
            None,
            None,
            CATALOGUE,
            {0, 46, 48, 54, 56, 62, 64, 74, 78, 79, 95, 109, 110, 142, 144, 151, 159, 162, 172, 173, 999},
            {8, 13, 31, 43, 45, 63, 68, 94, 121, 154, 157, 161},
            False,
            id="the catalogue ignores what asks for the application or nothing, and what follows another",
        ),
        pytest.param(
            None,
            None,
            {**CATALOGUE, "ignored_xids": (79,)},
            {95},
            {79, 94},
            False,
            id="the config ignores more than it",
        ),
        pytest.param(None, None, {**CATALOGUE, "fatal_xids": (94,)}, {94}, {13}, False, id="and makes others fatal"),
        pytest.param("109", "13", CATALOGUE, {13, 79}, {94, 109}, False, id="the variables win over the catalogue"),
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


RESTART_THE_APPLICATION = {8, 11, 13, 25, 31, 32, 60, 69, 80, 94} | {
    *(39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)),  # copy engines
    *(68, 83, 84, 88, 89, 96, 97, 98),  # video decoders
    *(82, *range(99, 106)),  # JPEG engines
    *(86, 139),  # optical flow
}
DO_NOTHING = {37, 38, 43, 44, 63, 66, 67, 92, 93, 106, 107, 121, 137, 141, 152, 153, 157, 160, 161}


def test_the_catalogue_ignores_by_its_own_actions() -> None:
    assert IGNORED_BY_CATALOGUE - {45, 154} == RESTART_THE_APPLICATION | DO_NOTHING
    assert {45, 154} < IGNORED_BY_CATALOGUE


@given(
    xid=st.integers(0, 2**64 - 1) | st.integers(0, 200),
    defaults=st.sampled_from(XidDefaults),
    ignored=st.frozensets(st.integers(0, 200)),
    fatal=st.frozensets(st.integers(0, 200)),
    disabled=st.frozensets(st.integers(0, 200)),
    enabled=st.frozensets(st.integers(1, 200)),
)
def test_the_strongest_word_on_an_xid_counts(  # noqa: PLR0917 - what can be said of one number.
    xid: int,
    defaults: XidDefaults,
    ignored: frozenset[int],
    fatal: frozenset[int],
    disabled: frozenset[int],
    enabled: frozenset[int],
) -> None:
    policy, warnings = xid_policy(
        Health(xid_policy=defaults, ignored_xids=tuple(ignored), fatal_xids=tuple(fatal)),
        disable=",".join(map(str, disabled)),
        enable=",".join(map(str, enabled)),
    )
    harmless = {
        XidDefaults.ORIGINAL: {13, 31, 43, 45, 68, 109},
        XidDefaults.CATALOGUE: RESTART_THE_APPLICATION | DO_NOTHING | {45, 154},
    }[defaults]
    strongest_first = ((xid in enabled, True), (xid in disabled, False), (xid in fatal, True), (xid in ignored, False))
    expected = next((verdict for said, verdict in strongest_first if said), xid not in harmless)
    assert (policy.is_fatal(xid), warnings) == (expected, ())


@given(xid=st.sampled_from(sorted(XIDS)) | st.integers(0, 1000))
def test_every_xid_comes_with_whole_sentences_that_help(xid: int) -> None:
    advice = xid_advice(xid)
    assert re.fullmatch(r"[A-Z][^.]+\.( [A-Z][^.]+\.)?", advice), advice
    assert ("names no action" in advice) == (xid not in XIDS or XIDS[xid].action is None)


def test_a_known_xid_without_an_action_says_so() -> None:
    assert (len(XIDS), sum(xid.action is None for xid in XIDS.values())) == (117, 19)
    assert (
        xid_advice(171)
        == xid_advice(4711)
        == ("NVIDIA's catalogue names no action for it: look at the kernel's log (dmesg) and ask the vendor's support.")
    )


@pytest.mark.parametrize(
    ("xid", "advice"),
    [
        (79, "Drain the node and restart it. If it comes back, ask the vendor's support."),
        (
            110,
            (
                "Take the pods off the GPU and reset it (nvidia-smi --gpu-reset). "
                "If it comes back, look for a known fault of the driver's version."
            ),
        ),
        (
            94,
            "Restart the application that met it; the GPU needs nothing. It comes with another XID, which says more.",
        ),
        (63, "Nothing has to be done at once."),
    ],
)
def test_what_helps_is_told(xid: int, advice: str) -> None:
    assert xid_advice(xid) == advice


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        pytest.param(
            XidPolicy(),
            "XIDs that change nothing: 13, 31, 43, 45, 68, 109; every other one makes a device unhealthy.",
            id="the default list",
        ),
        pytest.param(
            XidPolicy(ignored=frozenset({13, 94}), always=frozenset({13})),
            "XIDs that change nothing: 94; every other one makes a device unhealthy.",
            id="without those that are enabled",
        ),
        pytest.param(
            XidPolicy(ignored_all=True, always=frozenset({79, 48})),
            "XIDs that make a device unhealthy: 48, 79; every other one changes nothing.",
            id="all off but some",
        ),
        pytest.param(
            XidPolicy(ignored_all=True), "No XID makes a device unhealthy: health checks are off.", id="all off"
        ),
        pytest.param(XidPolicy(always_all=True), "Every XID makes a device unhealthy.", id="all on"),
        pytest.param(XidPolicy(ignored=frozenset()), "Every XID makes a device unhealthy.", id="nothing ignored"),
    ],
)
def test_a_policy_is_told_in_one_sentence(policy: XidPolicy, text: str) -> None:
    assert policy_text(policy) == text


def test_the_reference_page_has_every_known_xid_and_what_is_done_with_it() -> None:
    page = REFERENCE.read_text()
    assert page == xids_page()
    words = r"(unhealthy|ignored)"
    rows = re.findall(rf"^\| (\d+) \| ([^|]+) \| {words} \| {words} \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE)
    assert rows == [
        (
            str(number),
            xid.name,
            "ignored" if number in {13, 31, 43, 45, 68, 109} else "unhealthy",
            "ignored" if number in IGNORED_BY_CATALOGUE else "unhealthy",
            xid_advice(number),
        )
        for number, xid in XIDS.items()
    ]
