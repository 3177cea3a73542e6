"""Configs in `config.map` are read by the chart: bad words, wrong types and missing keys do not reach a node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from chart.conftest import Render
from chart.rendering import CHART, REPOSITORY, ROOT, Values, render
from chart.test_notes import with_notes
from gpu_core.config.effective import config_text
from gpu_core.config.file.decode import parse_text
from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.rules import judge_words

GOLDEN = ROOT / "tests/golden/config/config-files.json"
SHARED = "sharing: {timeSlicing: {resources: [%s]}}"


def one(text: str, **rest: object) -> Values:
    """Give values with this one config."""
    return {"config": {"map": {"default": text}}, **rest}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            "flags: {migStrategy: multi}",
            'flags.migStrategy is "multi", which is none of none, single, mixed',
            id="word",
        ),
        pytest.param(
            "flags: {plugin: {deviceListStrategy: [envvar, cdi]}}",
            'deviceListStrategy is "cdi", which is none of envvar, volume-mounts, cdi-annotations, cdi-cri',
            id="a word in a list",
        ),
        pytest.param("version: v2", 'version is "v2", which is none of v1', id="a version that does not exist"),
        pytest.param(
            SHARED % "{name: nvidia.com/gpu, replica: 4}",
            "sharing.timeSlicing.resources[0] lacks the key replicas, and has replica, which is no key",
            id="a mistyped key that is needed",
        ),
        pytest.param(
            "sharing: {mps: {renameByDefault: true}}", "sharing.mps lacks the key resources", id="sharing of nothing"
        ),
        pytest.param(
            "sharing: {mps: {resources: []}}", "sharing.mps.resources is empty", id="sharing of an empty list"
        ),
        pytest.param(
            "sharing: {timeSlicing: null}", "sharing.timeSlicing is empty", id="the section that null does not undo"
        ),
        pytest.param(
            SHARED % "{name: nvidia.com/gpu, replicas: '4'}",
            'replicas is "4", but takes a whole number; remove the quotes',
            id="a number in quotes",
        ),
        pytest.param(
            SHARED % "{name: gpu, replicas: 2.5}", "replicas is 2.5, but takes a whole number", id="a fraction"
        ),
        pytest.param(SHARED % "{name: gpu, replicas: 0}", "replicas is 0, but takes 1 at least", id="no replicas"),
        pytest.param(
            SHARED % "{name: GPU, replicas: 2}", 'name is "GPU", which is no name of a resource', id="a bad name"
        ),
        pytest.param(
            'flags: {failOnInitError: "false"}',
            'flags.failOnInitError is "false", but takes true or false; remove the quotes',
            id="a boolean in quotes",
        ),
        pytest.param("flags: [x]", 'flags is ["x"], but takes the keys ', id="a list where a mapping belongs"),
        pytest.param(
            "flags: {gfd: {sleepInterval: soon}}",
            'flags.gfd.sleepInterval is "soon", which is no duration such as 60s',
            id="no duration",
        ),
        pytest.param(
            "FLAGS: {MigStrategy: multi}", 'FLAGS.MigStrategy is "multi"', id="keys are known in any spelling"
        ),
    ],
)
def test_what_no_program_would_take(refusal: Callable[..., str], text: str, words: str) -> None:
    said = refusal(one(text))

    assert "config.map.default would be refused by the programs" in said
    assert words in said


def test_all_faults_are_told_at_once(refusal: Callable[..., str]) -> None:
    said = refusal(one("version: v2\nflags: {migStrategy: multi}\n" + SHARED % "{name: gpu}"))

    assert [word for word in ("version", "flags.migStrategy", "lacks the key replicas") if word not in said] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="an empty file"),
        pytest.param("flags: null", id="null is not given"),
        pytest.param("version: ''", id="an empty version"),
        pytest.param(SHARED % "{name: nvidia.com/gpu, replicas: 1}", id="one replica"),
        pytest.param(SHARED % "{name: gpu, replicas: 4, devices: [0, '1:0', GPU-x]}", id="devices in every form"),
        pytest.param("flags: {plugin: {deviceListStrategy: envvar}}", id="one word instead of a list"),
        pytest.param("flags: {gfd: {sleepInterval: 60000000000}}", id="a duration in nanoseconds"),
        pytest.param(config_text(Config()), id="every key there is"),
    ],
)
def test_what_programs_take_is_taken(rendered: Render, text: str) -> None:
    assert rendered(one(text, configStrict=True)).at("ConfigMap/r-nvidia-device-plugin-configs: data") == {
        "default": text
    }


def test_unknown_keys_are_named_in_the_notes(tools: Path, tmp_path: Path) -> None:
    values = one("flgs: {}\nflags: {migStrategy: none, renameByDefault: true}")
    notes = render(tools / "helm-4", values, chart=with_notes(tmp_path)).at("Notes/notes: text")

    assert (
        "WARNING: config.map.default has keys that no program knows, and that are ignored: flags.renameByDefault, flgs."
        in notes
    )


def test_unknown_keys_are_refused_where_the_programs_would(refusal: Callable[..., str]) -> None:
    said = refusal(one("flgs: {}", configStrict=True))

    assert "config.map.default has keys that no program knows: flgs." in said


@pytest.fixture(scope="module")
def recorded() -> list[str]:
    """Give the config files of the recorded cases."""
    return sorted({case["config"] for case in json.loads(GOLDEN.read_text())["cases"]})


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
def test_the_chart_agrees_with_the_plugin_about_recorded_files(
    tools: Path, tmp_path: Path, recorded: list[str], helm: str
) -> None:
    """It refuses nothing that the plugin takes; what it lets pass is for the plugin to judge."""
    chart = with_faults(tmp_path)
    texts = {f"c{number}": text for number, text in enumerate(recorded)}
    values = {"image": {"repository": REPOSITORY}, "texts": texts}
    only = ("--show-only", "templates/f.yaml")
    done = subprocess.run(
        [tools / helm, "template", "r", chart, "--namespace", "gpu", "--values", "-", *only],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=True,
    )
    found = {item["name"]: item for item in yaml.safe_load_all(done.stdout) if item}
    judged = {text: found[name]["faults"]["wrong"] for name, text in texts.items() if found[name]["mapping"]}
    passed = [error for text, wrong in judged.items() if not wrong for error in errors_of_plugin(text)]

    assert [text for text, wrong in judged.items() if wrong and not errors_of_plugin(text)] == []
    assert [error for error in passed if not any(words in error for words in FINER)] == []
    assert len(judged) > 100


def with_faults(directory: Path) -> Path:
    """Copy the chart, with what it has to say about each of `texts` as an object of its own."""
    chart = shutil.copytree(CHART, directory / CHART.name)
    (chart / "templates/validation.yaml").unlink()
    (chart / "templates/f.yaml").write_text(
        "{{- range $name, $text := .Values.texts }}\n---\nname: {{ $name }}\n"
        'mapping: {{ hasKey ($text | fromYaml) "Error" | not }}\n'
        'faults: {{ include "gpusuite.faultsOfConfig" (list $name $text) }}\n{{- end }}\n'
    )
    schema = json.loads((chart / "values.schema.json").read_text())
    schema["properties"]["texts"] = {}
    (chart / "values.schema.json").write_text(json.dumps(schema))
    return chart


def errors_of_plugin(text: str) -> list[str]:
    """Give what the plugin ends with, for this file."""
    parsed = parse_text(text, "c")
    problems = parsed.problems + judge_words(parsed.layer, DEVICE_PLUGIN, parsed.positions)
    return [error.message for error in problems.errors]


# What the plugin knows better than a table of keys, types and words.
FINER = (
    "'vfio' is not allowed",
    "is longer than 292 years",
    "63 are allowed",
    "a count is at least 1",
    "expected a GPU index",
    "found the number 99999999999999999999",
)
