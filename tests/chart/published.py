"""What values files that people have published have in common, and how to try one."""

from __future__ import annotations

from typing import Any

import yaml

from chart.conftest import Render
from chart.rendering import Values, merged
from chart.test_releases import IMAGE, RELEASES

PLUGIN = "DaemonSet/r-nvidia-device-plugin: pod"
GFD = "DaemonSet/r-nvidia-device-plugin-gfd: pod"
FINDER = "DaemonSet/r-nvidia-device-plugin-gfd-finder: pod"
CTR = f"{PLUGIN}.containers[nvidia-device-plugin-ctr]"
NO_SHARING = """
version: v1
flags:
  migStrategy: "none"
  failOnInitError: true
  nvidiaDriverRoot: "/"
  plugin:
    passDeviceSpecs: false
    deviceListStrategy: "envvar"
    deviceIDStrategy: "uuid"
"""
TOLERATED: Values = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def shared(replicas: int) -> str:
    """Give a config that shares each GPU by time."""
    return yaml.safe_dump(
        {
            "version": "v1",
            "flags": {"migStrategy": "none"},
            "sharing": {
                "timeSlicing": {
                    "renameByDefault": False,
                    "failRequestsGreaterThanOne": False,
                    "resources": [{"name": "nvidia.com/gpu", "replicas": replicas}],
                }
            },
        }
    )


def required(expression: Values) -> Values:
    """Give the affinity to nodes with this label."""
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def release(name: str, changes: Values) -> Values:
    """Give the whole values file of a release, with what somebody changed in it."""
    values: Values = yaml.safe_load((RELEASES / f"{name}.yaml").read_text())
    return merged(values, changes)


def installed(rendered: Render, values: Values, paths: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Render values with our image given on top: what the DaemonSets' names end in, and what is found at the paths."""
    rendering = rendered(merged(values, IMAGE))
    names = [name.removeprefix("r-nvidia-device-plugin") for name in rendering.kinds()["DaemonSet"]]
    return names, {path: rendering.at(path) for path in paths}
