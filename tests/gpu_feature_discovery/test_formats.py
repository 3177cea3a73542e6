from __future__ import annotations

import io
import json

import pytest
import yaml

from gpu_core.config.words import LabelFormat
from gpu_feature_discovery.outputs.text import StreamOutput, render

LABELS = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "1", "nvidia.com/cuda.driver.rev": ""}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        pytest.param(
            LabelFormat.LABELS,
            "nvidia.com/cuda.driver.rev=\nnvidia.com/gpu.count=1\nnvidia.com/gpu.product=Tesla-T4\n",
            id="labels: one assignment a line",
        ),
        pytest.param(
            LabelFormat.YAML,
            'nvidia.com/cuda.driver.rev: ""\nnvidia.com/gpu.count: "1"\nnvidia.com/gpu.product: "Tesla-T4"\n',
            id="yaml: quoted, so that numbers stay text",
        ),
        pytest.param(
            LabelFormat.TABLE,
            "LABEL                       VALUE\n"
            "nvidia.com/cuda.driver.rev\n"
            "nvidia.com/gpu.count        1\n"
            "nvidia.com/gpu.product      Tesla-T4\n",
            id="table: two columns",
        ),
    ],
)
def test_labels_are_written_sorted(form: LabelFormat, expected: str) -> None:
    assert render(LABELS, form) == expected


def test_json_and_yaml_say_the_same() -> None:
    assert json.loads(render(LABELS, LabelFormat.JSON)) == LABELS
    assert yaml.safe_load(render(LABELS, LabelFormat.YAML)) == LABELS


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (LabelFormat.LABELS, ""),
        (LabelFormat.JSON, "{}\n"),
        (LabelFormat.YAML, "{}\n"),
        (LabelFormat.TABLE, "LABEL  VALUE\n"),
    ],
)
def test_no_labels(form: LabelFormat, expected: str) -> None:
    assert render({}, form) == expected


def test_what_was_printed_is_not_taken_back() -> None:
    printed = io.StringIO()
    output = StreamOutput(printed, LabelFormat.LABELS)
    output.publish({"nvidia.com/gpu.count": "1"})
    output.withdraw()
    assert (output.take_back({}, known=True), printed.getvalue()) == (False, "nvidia.com/gpu.count=1\n")
