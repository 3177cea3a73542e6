"""The JSON Schema accepts what check-config accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from core.config.legal_layers import layers
from core.config.plain_values import values
from gpu_core.command.check import check
from gpu_core.config.build import build_config
from gpu_core.config.effective import config_document
from gpu_core.config.file.decode import parse_text
from gpu_core.config.file.document import read_document
from gpu_core.config.layers import Layer
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.flags import CommandLine
from gpu_core.config.schema import json_schema

GOLDEN = Path(__file__).parents[2] / "golden" / "config" / "config-files.json"
VALIDATOR = jsonschema.Draft7Validator(json_schema())


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(json_schema())


def faultless_texts() -> list[str]:
    """Return the recorded files with which nothing at all is wrong."""
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    return [
        text
        for text in sorted({case["config"] for case in cases})
        if not check(parse_text(text, "c"), DEVICE_PLUGIN, CommandLine(), {}).problems
    ]


@pytest.mark.parametrize("text", faultless_texts())
def test_a_recorded_file_without_a_problem_is_valid(text: str) -> None:
    root, _ = read_document(text.encode(), "c")

    VALIDATOR.validate(values(root) or {})


@given(layers())
def test_every_config_that_is_written_is_valid(layer: Layer) -> None:
    VALIDATOR.validate(config_document(build_config(layer)))


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"flgs": {}}, id="an unknown key"),
        pytest.param({"flags": {"renameByDefault": True}}, id="a misplaced key"),
        pytest.param({"version": "v2"}, id="an unknown version"),
        pytest.param({"flags": {"migStrategy": "both"}}, id="an unknown word"),
        pytest.param({"flags": {"gdsEnabled": "true"}}, id="a boolean in quotes"),
        pytest.param({"flags": {"gfd": {"sleepInterval": "15"}}}, id="a duration without a unit"),
        pytest.param({"sharing": {"timeSlicing": None}}, id="time slicing that is null"),
        pytest.param({"sharing": {"mps": {}}}, id="MPS without resources"),
        pytest.param({"sharing": {"mps": {"resources": []}}}, id="MPS with no resource"),
        pytest.param({"sharing": {"mps": {"resources": [{"name": "gpu"}]}}}, id="an entry without replicas"),
        pytest.param({"sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 0}]}}}, id="no replica"),
        pytest.param({"sharing": {"mps": {"resources": [{"name": "GPU", "replicas": 2}]}}}, id="an illegal name"),
        pytest.param(
            {"sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 2, "devices": "some"}]}}},
            id="a word for devices",
        ),
    ],
)
def test_what_check_config_refuses_is_not_valid(document: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"version": "", "flags": None, "sharing": {"mps": None}}, id="null sections"),
        pytest.param({"flags": {"migStrategy": None, "gfd": {"sleepInterval": 1}}}, id="null and numeric values"),
        pytest.param({"flags": {"plugin": {"deviceListStrategy": "envvar"}}}, id="one word for a list"),
        pytest.param({"devices": {"include": [0, "*T4*"]}}, id="bare indices"),
    ],
)
def test_what_check_config_accepts_is_valid(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)
    assert not parse_text(json.dumps(document), "c").problems
