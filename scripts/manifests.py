"""Generate charts/static/ from the chart: manifests for `kubectl apply`, or --check that they are up to date.

Each is one rendering of the chart, without what only Helm needs.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import chart_tools
import yaml

ROOT = chart_tools.ROOT
CHART = ROOT / "charts/nvidia-device-plugin"
STATIC = ROOT / "charts/static"
NAMESPACE = "kube-system"
# Names come out without a release's name in front.
RELEASE = "nvidia-device-plugin"
# Labels that only make sense for a release of Helm's.
HELM_LABELS = ("helm.sh/chart", "app.kubernetes.io/managed-by")

Values = dict[str, Any]
# There is no registry that everybody could pull from, so that whoever applies these names one.
IMAGE: Values = {"image": {"repository": "registry.example/k8s-gpu-suite/nvidia-device-plugin"}}
GFD_ONLY: Values = {"devicePlugin": {"enabled": False}, "gfd": {"enabled": True, "output": "nodeFeature"}}
SHARING = """\
version: v1
sharing:
  timeSlicing:
    resources:
      - name: nvidia.com/gpu
        replicas: 4
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One file: what it is for, and the values it is rendered from."""

    purpose: str
    values: Values = field(default_factory=dict)
    job: bool = False


MANIFESTS = {
    "nvidia-device-plugin.yaml": Manifest(
        purpose="The device plugin alone, on every node.", values={"mps": {"enabled": False}, "affinity": None}
    ),
    "nvidia-device-plugin-with-cpu-manager.yaml": Manifest(
        purpose="The device plugin alone, on every node, privileged, for kubelets with the static CPU manager policy.",
        values={"mps": {"enabled": False}, "affinity": None, "compatWithCPUManager": True},
    ),
    "nvidia-device-plugin-with-config-map.yaml": Manifest(
        purpose="The device plugin, on every node, with configs that nodes choose by a label.",
        values={
            "mps": {"enabled": False},
            "affinity": None,
            "config": {"map": {"default": "version: v1\n", "time-slicing": SHARING}},
        },
    ),
    "gpu-feature-discovery.yaml": Manifest(purpose="Node labels for whole GPUs.", values=GFD_ONLY),
    "gpu-feature-discovery-mig-single.yaml": Manifest(
        purpose="Node labels where MIG devices are served as nvidia.com/gpu.",
        values={**GFD_ONLY, "migStrategy": "single"},
    ),
    "gpu-feature-discovery-mig-mixed.yaml": Manifest(
        purpose="Node labels where MIG devices have resources of their own.",
        values={**GFD_ONLY, "migStrategy": "mixed"},
    ),
    "gpu-feature-discovery-job.yaml": Manifest(
        purpose="The labels of one node, once: put the node's name in place of NODE_NAME.", values=GFD_ONLY, job=True
    ),
}


def main() -> int:
    """Write the files, or compare them; the exit code is 1 where a committed one is stale or Helm is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")
    check: bool = parser.parse_args().check

    try:
        tools = chart_tools.ensure()
    except chart_tools.ToolsMissingError as error:
        print(error, file=sys.stderr)
        return 1
    texts = {name: text(manifest, str(tools / "helm-4")) for name, manifest in MANIFESTS.items()}
    if not check:
        STATIC.mkdir(parents=True, exist_ok=True)
        for name, content in texts.items():
            (STATIC / name).write_text(content)
        return 0
    present = {path.name: path.read_text() for path in STATIC.glob("*.yaml")}
    stale = sorted(name for name in texts | present if texts.get(name) != present.get(name))
    for name in stale:
        print(f"charts/static/{name} does not match the chart. Run `make manifests` and commit.", file=sys.stderr)
    return 1 if stale else 0


def text(manifest: Manifest, helm: str) -> str:
    """Render one manifest."""
    values: Values = {**IMAGE, **manifest.values}
    if manifest.job:
        values["metrics"] = {"enabled": False}
    rendered = subprocess.run(
        [helm, "template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", "-"],
        input=json.dumps(values),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    objects = [without_helm(item) for item in yaml.safe_load_all(rendered) if item]
    if manifest.job:
        objects = [as_job(item) if item["kind"] == "DaemonSet" else item for item in objects]
    documents = "---\n".join(yaml.safe_dump(item, sort_keys=False, width=110) for item in objects)
    return (
        f"# {manifest.purpose}\n# Put your registry in the place of registry.example.\n"
        f"# Generated from charts/nvidia-device-plugin by `make manifests`.\n---\n{documents}"
    )


def without_helm(item: Values) -> Values:
    """Leave the labels of a release away."""
    item = copy.deepcopy(item)
    for label in HELM_LABELS:
        item["metadata"].get("labels", {}).pop(label, None)
    return item


def as_job(daemon_set: Values) -> Values:
    """Turn gpu-feature-discovery's DaemonSet into a Job that labels one node once."""
    template = copy.deepcopy(daemon_set["spec"]["template"])
    pod = template["spec"]
    for name in ("affinity", "tolerations", "priorityClassName"):
        pod.pop(name, None)
    pod["nodeName"] = "NODE_NAME"
    pod["restartPolicy"] = "Never"
    (container,) = pod["containers"]
    container["args"] = ["--oneshot"]
    metadata = {**daemon_set["metadata"], "name": "gpu-feature-discovery"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"backoffLimit": 3, "template": template},
    }


if __name__ == "__main__":
    sys.exit(main())
