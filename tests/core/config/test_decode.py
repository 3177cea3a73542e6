"""What a config file's text gives, and everything that is wrong with it, each with its place."""

# ruff: noqa: E501  A case is a line, with its whole message.

from __future__ import annotations

import pytest

from gpu_core.config.duration import Duration
from gpu_core.config.file.decode import parse_text
from gpu_core.config.layers import Position, dotted


def given(text: str) -> dict[str, object]:
    """Return the values of a text without problems."""
    parsed = parse_text(text, "config.yaml")
    assert not parsed.problems.errors
    return {dotted(path): value.value for path, value in parsed.layer.items()}


def problems(text: str) -> list[str]:
    """Return the problems of a text, with an exclamation mark in front of those that are fatal."""
    return [f"{'!' if problem.fatal else ''}{problem}" for problem in parse_text(text, "c").problems]


def shared(entry: str, section: str = "timeSlicing") -> str:
    return f"sharing:\n  {section}:\n    resources:\n    - {entry}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", {}, id="an empty file gives nothing"),
        pytest.param("version: ''\n", {}, id="an empty version is the usual one"),
        pytest.param("FLAGS:\n  MIGstrategy: single\n", {"flags.migStrategy": "single"}, id="case does not matter"),
        pytest.param(
            "flags:\n  migStrategy: single\n  MIGSTRATEGY: mixed\n",
            {"flags.migStrategy": "single"},
            id="of two spellings the last in byte order wins",
        ),
        pytest.param("flags: {migStrategy: null, plugin: null}\n", {}, id="null counts as absent"),
        pytest.param(
            "flags: {MIGSTRATEGY: single, migStrategy: null}\n", {}, id="null takes back what another spelling gave"
        ),
        pytest.param("flags: {mpsRoot: ''}\n", {"flags.mpsRoot": ""}, id="an empty text is a value"),
        pytest.param(
            "flags: {plugin: {deviceListStrategy: envvar}}\n",
            {"flags.plugin.deviceListStrategy": ("envvar",)},
            id="one word is a list of one",
        ),
        pytest.param(
            "flags: {plugin: {deviceListStrategy: [envvar, null]}}\n",
            {"flags.plugin.deviceListStrategy": ("envvar", "")},
            id="an empty entry is an empty word",
        ),
        pytest.param(
            "flags: {gfd: {sleepInterval: 1.5}}\n",
            {"flags.gfd.sleepInterval": Duration(1)},
            id="a number is nanoseconds, without fractions",
        ),
        pytest.param("imex: {channelIDs: [0.0, null]}\n", {"imex.channelIDs": (0, 0)}, id="a whole float is a number"),
        pytest.param(
            "devices: {include: [0, GPU-1]}\n", {"devices.include": ("0", "GPU-1")}, id="an index may be bare"
        ),
        pytest.param(
            shared("{name: gpu, replicas: 4.0, devices: [0, 1.0, '0:1', null]}"),
            {
                "sharing.timeSlicing.resources": (
                    {"name": "nvidia.com/gpu", "replicas": 4, "devices": ("0", "1", "0:1", "0")},
                )
            },
            id="an entry of shared resources",
        ),
        pytest.param(
            shared("{name: gpu, replicas: 2, memoryLimitMiB: null, memoryFactor: 2}", "mps"),
            {"sharing.mps.resources": ({"name": "nvidia.com/gpu", "replicas": 2, "memoryFactor": 2.0},)},
            id="our own keys may be null",
        ),
        pytest.param("sharing: {mps: null}\n", {}, id="null for MPS is no MPS"),
        pytest.param(
            "resources: {gpus: [{pattern: null, name: a}], mig: null}\n",
            {"resources.gpus": ({"pattern": "", "name": "nvidia.com/a"},)},
            id="an empty pattern is an empty text",
        ),
    ],
)
def test_reads_values(text: str, expected: dict[str, object]) -> None:
    assert given(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- a\n", "c:1:1: expected a mapping with keys such as flags, found a list", id="a list"),
        pytest.param("hello\n", "c:1:1: expected a mapping with keys such as flags, found the text 'hello'", id="a text"),
        pytest.param("version: 1\n", 'c:1:10: version: expected text, found the number 1; write "1" with quotes', id="a number as text"),
        pytest.param("version: v2\n", "c:1:10: version: 'v2' is an unknown version; only v1 exists", id="an unknown version"),
        pytest.param("flags: []\n", "c:1:8: flags: expected a mapping, found a list", id="a list as a section"),
        pytest.param("flags: {migStrategy: no}\n", 'c:1:22: flags.migStrategy: expected text, found the boolean no; YAML reads a bare no as a boolean, so write "no"', id="a bare no as text"),
        pytest.param("flags: {migStrategy: {}}\n", "c:1:22: flags.migStrategy: expected text, found a mapping", id="a mapping as text"),
        pytest.param("flags: {gdsEnabled: 'true'}\n", "c:1:21: flags.gdsEnabled: expected true or false, found the text 'true'; remove the quotes", id="a boolean in quotes"),
        pytest.param("flags: {gdsEnabled: 1}\n", "c:1:21: flags.gdsEnabled: expected true or false, found the number 1", id="a number as a boolean"),
        pytest.param("flags: {plugin: {deviceListStrategy: 3}}\n", "c:1:38: flags.plugin.deviceListStrategy: expected a word or a list of words, found the number 3", id="a number as a list of words"),
        pytest.param("flags: {gfd: {sleepInterval: true}}\n", "c:1:30: flags.gfd.sleepInterval: expected a duration such as 60s, found the boolean true", id="a boolean as a duration"),
        pytest.param("flags: {gfd: {sleepInterval: 1e30}}\n", "c:1:30: flags.gfd.sleepInterval: 1e30 nanoseconds are longer than 292 years", id="a number too large for a duration"),
        pytest.param("flags: {plugin: {rescanInterval: -1s}}\n", "c:1:34: flags.plugin.rescanInterval: -1s is negative", id="a negative interval"),
        pytest.param("health: {probeInterval: 0s}\n", "c:1:25: health.probeInterval: 0s is not more than zero", id="an interval of zero"),
        pytest.param("imex: {channelIDs: 0}\n", "c:1:20: imex.channelIDs: expected a list of whole numbers, found the number 0", id="a number as a list"),
        pytest.param("imex: {channelIDs: ['0']}\n", "c:1:20: imex.channelIDs: expected a whole number, found the text '0'; remove the quotes", id="a number in quotes"),
        pytest.param("imex: {channelIDs: [x]}\n", "c:1:20: imex.channelIDs: expected a whole number, found the text 'x'", id="a word as a number"),
        pytest.param("imex: {channelIDs: [true]}\n", "c:1:20: imex.channelIDs: expected a whole number, found the boolean true", id="a boolean as a number"),
        pytest.param("devices: {include: all}\n", "c:1:20: devices.include: expected a list of texts, found the text 'all'", id="a text as a list"),
        pytest.param("resources: {gpus: {}}\n", "c:1:19: resources.gpus: expected a list, found a mapping", id="a mapping as a list"),
        pytest.param("resources: {gpus: [null]}\n", "c:1:20: resources.gpus[0]: expected a mapping, found nothing", id="an empty entry"),
        pytest.param("resources: {gpus: [{name: a}]}\n", "c:1:20: resources.gpus[0]: the key pattern is missing", id="an entry without a pattern"),
        pytest.param("sharing: {timeSlicing: null}\n", "c:1:11: sharing.timeSlicing: no resources are given; list at least one, or remove the key", id="time slicing that is null"),
        pytest.param("sharing: {mps: {}}\n", "c:1:16: sharing.mps: no resources are given; list at least one, or remove the key", id="MPS without resources"),
        pytest.param("sharing: {mps: {resources: []}}\n", "c:1:28: sharing.mps.resources: no resources are given; list at least one, or remove the section", id="MPS with no resource"),
        pytest.param("sharing: {mps: {resources: {}}}\n", "c:1:28: sharing.mps.resources: expected a list, found a mapping", id="MPS with a mapping of resources"),
        pytest.param(shared("{name: gpu, replicas: 0}"), "c:4:29: sharing.timeSlicing.resources[0].replicas: 0 containers cannot share a device; at least 1 can, which shares nothing", id="no replica"),
        pytest.param(shared("{name: gpu, replicas: -1}", "mps"), "c:4:29: sharing.mps.resources[0].replicas: -1 containers cannot share a device; at least 1 can, which shares nothing", id="fewer than no replicas"),
        pytest.param(shared("{name: gpu, replicas: 2.5}"), "c:4:29: sharing.timeSlicing.resources[0].replicas: expected a whole number, found the number 2.5", id="half a replica"),
        pytest.param(shared("{name: gpu, replicas: 2, rename: null}"), "c:4:40: sharing.timeSlicing.resources[0].rename: expected text, found nothing", id="a null name"),
        pytest.param(shared("{name: gpu, replicas: 2, devices: some}"), "c:4:41: sharing.timeSlicing.resources[0].devices: expected `all`, a count or a list of devices, found the text 'some'; a single device is written as a list", id="a word for devices"),
        pytest.param(shared("{name: gpu, replicas: 2, devices: null}"), "c:4:41: sharing.timeSlicing.resources[0].devices: expected `all`, a count or a list of devices, found nothing", id="nothing for devices"),
        pytest.param(shared("{name: gpu, replicas: 2, devices: yes}"), "c:4:41: sharing.timeSlicing.resources[0].devices: expected `all`, a count or a list of devices, found the boolean yes", id="a boolean for devices"),
        pytest.param(shared("{name: gpu, replicas: 2, devices: 1.5}"), "c:4:41: sharing.timeSlicing.resources[0].devices: expected a whole number, found the number 1.5", id="half a device"),
        pytest.param(shared("{name: gpu, replicas: 2, devices: 0}"), "c:4:41: sharing.timeSlicing.resources[0].devices: 0 devices cannot be shared; a count is at least 1", id="no device"),
        pytest.param(shared("{name: gpu, replicas: 2, devices: [true]}"), "c:4:41: sharing.timeSlicing.resources[0].devices: expected a GPU index, a MIG index such as 0:1, or the UUID of a GPU or MIG device, found the boolean true", id="a boolean for a device"),
        pytest.param(shared("{name: gpu, replicas: 2, memoryFactor: true}", "mps"), "c:4:46: sharing.mps.resources[0].memoryFactor: expected a number, found the boolean true", id="a boolean for a factor"),
        pytest.param(shared("{name: gpu, replicas: 2, memoryFactor: x}", "mps"), "c:4:46: sharing.mps.resources[0].memoryFactor: expected a number, found the text 'x'", id="a word for a factor"),
        pytest.param(shared("{name: gpu, replicas: 2, activeThreadPercentage: 101}", "mps"), "c:4:56: sharing.mps.resources[0].activeThreadPercentage: 101.0 is no percentage; 0 to 100 are allowed", id="more than all threads"),
    ],
)  # fmt: skip
def test_refuses_wrong_values(text: str, expected: str) -> None:
    assert problems(text) == [f"!{expected}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("flags: {renameByDefault: true}\n", "c:1:9: flags.renameByDefault: unknown key; did you mean renameByDefault, which belongs under sharing.mps or sharing.timeSlicing?", id="a misplaced key"),
        pytest.param("migStrategy: none\n", "c:1:1: migStrategy: unknown key; did you mean migStrategy, which belongs under flags?", id="a key one level too high"),
        pytest.param("flags: {mig-strategy: none}\n", "c:1:9: flags.mig-strategy: unknown key; did you mean migStrategy?", id="a key written as a flag"),
        pytest.param("flags: {migStrateg: none}\n", "c:1:9: flags.migStrateg: unknown key; did you mean migStrategy?", id="a typo"),
        pytest.param("flags: {sleepInterva: 1s}\n", "c:1:9: flags.sleepInterva: unknown key; did you mean sleepInterval, which belongs under flags.gfd?", id="a typo in a misplaced key"),
        pytest.param("flags: {vesion: v1}\n", "c:1:9: flags.vesion: unknown key; did you mean version, which belongs at the top of the file?", id="a typo of a key of the top"),
        pytest.param("flags: {resource: {}}\n", "c:1:9: flags.resource: unknown key; did you mean resources, which belongs under sharing.mps or sharing.timeSlicing or at the top of the file?", id="a typo of a key of several places"),
        pytest.param("imex: {quux: 1}\n", "c:1:8: imex.quux: unknown key; imex knows channelIDs, required", id="a key like no other"),
        pytest.param("quux: 1\n", "c:1:1: quux: unknown key; the file knows version, flags, resources, sharing, imex, devices, health", id="one at the top"),
        pytest.param(shared("{name: gpu, replicas: 2, colour: red}"), "c:4:32: sharing.timeSlicing.resources[0].colour: unknown key; sharing.timeSlicing.resources knows name, replicas, rename, devices, allocationPolicy, memoryLimitMiB, memoryFactor, activeThreadPercentage", id="one in an entry"),
        pytest.param("flags: {gdsEnabled: yes}\n", "c:1:21: flags.gdsEnabled: yes is a boolean in YAML 1.1 only; write true", id="a YAML 1.1 boolean"),
        pytest.param("version: v1\nversion: v1\n", "c:2:1: version: this key is also on line 1; the last one counts", id="a duplicate key"),
        pytest.param("FLAGS: {}\n", "c:1:1: FLAGS: is read as flags; write it so", id="a key in another case"),
        pytest.param("version: v1\n---\nversion: v1\n", "c:1:1: the file holds several documents; only the first counts", id="a second document"),
    ],
)  # fmt: skip
def test_warns_of_what_the_original_swallows(text: str, expected: str) -> None:
    assert problems(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{'k' * 9_999}: 1\n" * 2, id="a key, twice"),
        pytest.param(f"version: {'v' * 9_999}\n", id="a version"),
        pytest.param(f"flags: {{mpsRoot: [{'v' * 9_999}]}}\n", id="a value of the wrong type"),
        pytest.param(f"version: &{'a' * 9_999} [*{'a' * 9_999}]\n", id="an anchor in itself"),
        pytest.param(f"version: *{'a' * 9_999}\n", id="an unknown alias"),
        pytest.param(f"version: !!int {'v' * 9_999}\n", id="a tag that is not true"),
        pytest.param(f"flags: {{gfd: {{sleepInterval: {'9' * 9_999}s}}}}\n", id="a duration"),
        pytest.param(shared(f"{{name: {'n' * 9_999}, replicas: 2}}"), id="a name"),
        pytest.param(shared(f"{{name: gpu, replicas: 2, devices: [{'n' * 9_999}]}}"), id="a device"),
    ],
)
def test_long_texts_do_not_make_long_messages(text: str) -> None:
    assert max(map(len, problems(text))) in range(1, 300)


def test_what_steers_a_terminal_is_escaped() -> None:
    text = '"a\\e[31m\\nflags": 1\nversion: "\\u202ev2"\n'

    assert problems(text) == [
        r"c:1:1: a\x1b[31m\nflags: unknown key; the file knows version, flags, resources, sharing, imex, devices, health",
        r"!c:2:10: version: '\u202ev2' is an unknown version; only v1 exists",
    ]


def test_tells_keys_of_shared_resources_apart_by_case() -> None:
    assert problems("sharing:\n  mps:\n    Resources: []\n") == [
        "c:3:5: sharing.mps.Resources: unknown key; did you mean resources? Upper and lower case matter here",
        "!c:3:5: sharing.mps: no resources are given; list at least one, or remove the key",
    ]


def test_finds_everything_in_one_go_in_file_order() -> None:
    text = "version: v2\nflags:\n  gdsEnabled: 1\n  foo: 1\nimex:\n  channelIDs: x\n"

    lines = [problem.position.line for problem in parse_text(text, "c").problems if problem.position]

    assert lines == [1, 3, 4, 6]


def test_remembers_where_everything_stands() -> None:
    parsed = parse_text(shared("{name: gpu, replicas: 2}"), "c")

    assert parsed.positions["sharing", "timeSlicing", "resources", 0, "replicas"] == Position(
        file="c", line=4, column=19
    )
    assert parsed.positions["sharing",] == Position(file="c", line=1, column=1)


def test_a_key_that_replaces_a_merged_one_is_no_duplicate() -> None:
    assert problems("flags:\n  <<: {gdsEnabled: true}\n  gdsEnabled: false\n") == []


def test_a_file_of_nonsense_is_answered_quickly_and_in_bounds() -> None:
    text = "".join(f"k{'x' * 90}{number}: 1\n" for number in range(5_000))

    found = problems(text)

    assert len(found) == 5_000
    assert len(max(found, key=len)) < 250
