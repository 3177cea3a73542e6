"""The chart as a part of another one, as people wrap it to add what is theirs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from chart.rendering import CHART, Values

# As in nicklasfrahm/cloud, charts/nvidia-device-plugin.
PARENT = """
apiVersion: v2
name: umbrella
version: 1.0.0
dependencies:
  - {name: nvidia-device-plugin, version: 0.1.0, condition: nvidia-device-plugin.enabled}
"""
OURS: Values = {"image": {"repository": "registry.example/gpu/nvidia-device-plugin"}, "gfd": {"enabled": True}}


def sets_of(helm: Path, directory: Path, values: Values) -> list[str]:
    """Render the parent with these values for our chart, and give the names of the DaemonSets."""
    parent = directory / "umbrella"
    shutil.copytree(CHART, parent / "charts" / CHART.name)
    (parent / "Chart.yaml").write_text(PARENT)
    done = subprocess.run(
        [helm, "template", "r", parent, "--namespace", "gpu", "--values", "-"],
        input=json.dumps({"nvidia-device-plugin": {**OURS, **values}, "global": {"region": "x"}}),
        capture_output=True,
        text=True,
        check=True,
    )
    objects = yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)
    return [item["metadata"]["name"] for item in objects if item and item["kind"] == "DaemonSet"]


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
@pytest.mark.parametrize("enabled", [None, True, False], ids=["not given", "true", "false"])
def test_the_condition_of_a_parent_is_no_unknown_value(
    tools: Path, tmp_path: Path, helm: str, enabled: bool | None
) -> None:
    values = {} if enabled is None else {"enabled": enabled}
    names = ["r-nvidia-device-plugin", "r-nvidia-device-plugin-gfd", "r-nvidia-device-plugin-mps"]

    assert sets_of(tools / helm, tmp_path, values) == ([] if enabled is False else names)
