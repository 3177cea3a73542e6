"""The manifests in charts/static are whole, and valid without Helm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from chart.rendering import ABSENT, ROOT, Rendering
from chart.schemas import complaints

STATIC = ROOT / "charts/static"


def load(name: str) -> Rendering:
    return Rendering(objects=tuple(yaml.safe_load_all((STATIC / name).read_text())))


@pytest.mark.parametrize("name", sorted(path.name for path in STATIC.glob("*.yaml")))
def test_a_manifest_is_valid_and_names_nothing_that_it_lacks(tools: Path, name: str) -> None:
    manifest = load(name)
    accounts = set(manifest.kinds()["ServiceAccount"])
    pods = [item["spec"]["template"]["spec"] for item in manifest.objects if "template" in item.get("spec", {})]

    assert [text for item in manifest.objects for text in complaints(tools, json.dumps(item))] == []
    assert {pod["serviceAccountName"] for pod in pods} == accounts
    assert "helm" not in (STATIC / name).read_text()


def test_the_job_labels_one_node_once() -> None:
    job = load("gpu-feature-discovery-job.yaml")
    pod = "Job/gpu-feature-discovery: pod"

    assert (job.at(f"{pod}.nodeName"), job.at(f"{pod}.restartPolicy")) == ("NODE_NAME", "Never")
    assert job.at(f"{pod}.containers[gpu-feature-discovery-ctr].args") == ["--oneshot"]
    assert job.at(f"{pod}.affinity") is ABSENT


def test_the_schemas_notice_a_field_that_does_not_exist(tools: Path) -> None:
    item = dict(load("nvidia-device-plugin.yaml").objects[0])

    assert complaints(tools, json.dumps(item)) == ()
    assert len(complaints(tools, json.dumps({**item, "automountToken": False}))) == 2
