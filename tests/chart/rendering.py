"""Real Helm over the real chart, and a way to point at one thing in what it renders."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts/nvidia-device-plugin"
# The only value without a default. Whoever tests it gives another one.
REPOSITORY = "k8s-gpu-suite/nvidia-device-plugin"
Values = dict[str, Any]


class _Absent:
    """What a path leads to where nothing is."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


class RefusedError(Exception):
    """Helm rendered nothing; the text is what it told the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """The objects of one rendering, in Helm's order."""

    objects: tuple[dict[str, Any], ...]

    def kinds(self) -> dict[str, list[str]]:
        """Give the sorted names of the objects, by kind."""
        found: dict[str, list[str]] = {}
        for item in self.objects:
            found.setdefault(item["kind"], []).append(item["metadata"]["name"])
        return {kind: sorted(names) for kind, names in sorted(found.items())}

    def at(self, path: str) -> Any:
        """Follow `Kind/name: a.b[x].c`: keys by name, items of a list by their `name`; ABSENT where nothing is.

        `Kind/name` alone is the object. `pod` stands for `spec.template.spec`.
        """
        head, _, rest = path.partition(":")
        kind, _, name = head.partition("/")
        value: Any = next((o for o in self.objects if (o["kind"], o["metadata"]["name"]) == (kind, name)), ABSENT)
        for step in re.findall(r"[^.\[\]]+|\[[^\]]*\]", rest.strip().replace("pod", "spec.template.spec", 1)):
            value = _follow(value, step)
        return value


def _follow(value: Any, step: str) -> Any:
    if step.startswith("["):
        items = value if isinstance(value, list) else []
        return next((item for item in items if item.get("name") == step[1:-1]), ABSENT)
    return value.get(step, ABSENT) if isinstance(value, dict) else ABSENT


def merged(base: Values, more: Values) -> Values:
    """Give both, mappings merged."""
    return {
        **base,
        **{
            k: merged(base[k], v) if isinstance(v, dict) and isinstance(base.get(k), dict) else v
            for k, v in more.items()
        },
    }


def render(helm: Path, values: Values, *, release: str = "r", namespace: str = "gpu", chart: Path = CHART) -> Rendering:
    """Run `helm template`, with an image where `values` name none; raises RefusedError with what Helm says."""
    values = merged({"image": {"repository": REPOSITORY}}, values)
    done = subprocess.run(
        [helm, "template", release, chart, "--namespace", namespace, "--values", "-"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RefusedError(done.stderr)
    loaded = yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)
    return Rendering(objects=tuple(item for item in loaded if item))
