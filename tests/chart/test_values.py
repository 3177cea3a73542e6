"""Every value does something, every value is documented, and nothing that is used is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.rendering import CHART, ROOT, Rendering, Values, merged, render
from chart.test_notes import with_notes

DEFAULTS: Values = yaml.safe_load((CHART / "values.yaml").read_text())
# Mappings that users fill; their keys are not values of the chart.
OPEN = {"affinity", "updateStrategy", "probes.liveness", "probes.readiness"}


def leaves(values: Values, prefix: str = "") -> Iterator[str]:
    """Give the paths of all values that are not merely groups."""
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and value and path not in OPEN:
            yield from leaves(value, f"{path}.")
        else:
            yield path


def nested(path: str, value: Any) -> Values:
    """Give the values that have `value` at this path."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


# Values under which the others show an effect: all components, all kinds of objects.
EVERYTHING: Values = {
    "config": {"map": {"a": "", "default": ""}, "assume": {"mps": True}},
    "gfd": {"enabled": True},
    "metrics": {"podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}},
    "networkPolicy": {"enabled": True},
    "runtimeClass": {"create": True},
    "nfd": {"enabled": False},
}
OF_COMPONENTS: Values = {
    "image": {"tag": "x"},
    "resources": {"limits": {"cpu": "3"}},
    "nodeSelector": {"x": "y"},
    "affinity": {},
    "tolerations": [],
    "priorityClassName": "x",
    "updateStrategy": {"type": "OnDelete"},
    "podAnnotations": {"x": "y"},
    "podLabels": {"x": "y"},
    "env": [{"name": "X", "value": "y"}],
    "securityContext": {"runAsUser": 3},
    "enableHostNetwork": True,
    "imagePullSecrets": [{"name": "y"}],
    "podSecurityContext": {"fsGroup": 4},
    "runtimeClassName": "y",
}
# A value for each path that is not the default.
CHANGES: Values = {
    "config.name": "theirs",
    "config.map": {"default": "x: y"},
    "config.default": "a",
    "config.fallbackStrategies": ["empty"],
    "config.assume.mig": True,
    "config.assume.volumeMounts": True,
    "config.assume.cdi": True,
    "config.assume.mps": False,
    "config.assume.featureFile": True,
    "compatWithCPUManager": True,
    "migStrategy": "mixed",
    "failOnInitError": False,
    "deviceListStrategy": "cdi-cri",
    "deviceIDStrategy": "index",
    "nvidiaDriverRoot": "/x",
    "driverLibraryPath": "/x",
    "nvidiaDevRoot": "/x",
    "gdrcopyEnabled": True,
    "gdsEnabled": True,
    "mofedEnabled": True,
    "deviceDiscoveryStrategy": "nvml",
    "noTimestamp": True,
    "sleepInterval": "5s",
    "configStrict": True,
    "logLevel": "debug",
    "logFormat": "text",
    "simulatedNode": "t4",
    "cdi.nvidiaHookPath": "/x",
    "cdi.featureFlags": "x",
    "nameOverride": "x",
    "fullnameOverride": "x",
    "namespaceOverride": "x",
    "selectorLabelsOverride": {"x": "y"},
    "image.repository": "x/y",
    "image.tag": "x",
    "image.pullPolicy": "Always",
    "imagePullSecrets": [{"name": "x"}],
    "updateStrategy": {"type": "OnDelete"},
    "podAnnotations": {"x": "y"},
    "podSecurityContext": {"fsGroup": 3},
    "securityContext": {"runAsUser": 3},
    "resources": {"limits": {"cpu": "3"}},
    "nodeSelector": {"x": "y"},
    "affinity": None,
    "tolerations": [],
    "priorityClassName": "",
    "runtimeClassName": "x",
    "devicePlugin.enabled": False,
    "devicePlugin.podResources": True,
    "devicePlugin.nodeEvents": True,
    "devicePlugin.nodeCondition": "X",
    "devicePlugin.xidPolicy": "catalogue",
    "devicePlugin.removeTaint": "x",
    "gfd.enabled": False,
    "gfd.output": "node",
    "gfd.vgpuDetection": False,
    "gfd.nameOverride": "x",
    "gfd.namespaceOverride": "x",
    "gfd.noTimestamp": True,
    "gfd.sleepInterval": "5s",
    "mps.enabled": False,
    "mps.root": "/x",
    "mps.enableHostPID": False,
    "configManager.mode": "daemonset",
    "configManager.sendSignal": True,
    "configManager.hostPath": "/x",
    "configManager.nodeEvents": True,
    "kubeletRootDir": "/x",
    "serviceAccount.create": False,
    "serviceAccount.name": "x",
    "serviceAccount.annotations": {"x": "y"},
    "rbac.create": False,
    "runtimeClass.create": False,
    "runtimeClass.handler": "x",
    "metrics.enabled": False,
    "metrics.port": 1000,
    "metrics.host": "127.0.0.1",
    "metrics.podMonitor.enabled": False,
    "metrics.podMonitor.labels": {"x": "y"},
    "metrics.podMonitor.interval": "5s",
    "metrics.serviceMonitor.enabled": False,
    "metrics.serviceMonitor.labels": {"x": "y"},
    "metrics.serviceMonitor.interval": "5s",
    "probes.liveness": None,
    "probes.readiness": None,
    "networkPolicy.enabled": False,
    "networkPolicy.from": [{"podSelector": {}}],
    "networkPolicy.apiServerPorts": [1],
    **{
        f"{component}.{key}": value
        for component in ("devicePlugin", "gfd", "mps", "configManager")
        for key, value in OF_COMPONENTS.items()
    },
}

# Known to releases 0.12 to 0.16 of the original's charts, or of the one that became its subchart; not documented.
WITHOUT_EFFECT = {
    "legacyDaemonsetAPI",
    "node-feature-discovery",
    "devicePlugin.mode",
    "gfd.fullnameOverride",
    "gfd.selectorLabelsOverride",
    "gfd.allowDefaultNamespace",
    "gfd.failOnInitError",
    "gfd.migStrategy",
    "gfd.nfd",
}


def test_the_table_of_changes_names_every_value() -> None:
    """But those of the subchart, and the one that test_refusals shows at work."""
    ours = {path for path in leaves(DEFAULTS) if not path.startswith("nfd.")}

    assert sorted(CHANGES) == sorted(ours - {"allowDefaultNamespace"})


@pytest.fixture(scope="module")
def show(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Values], Rendering]:
    """Render values together with the notes, the same values once."""
    chart = with_notes(tmp_path_factory.mktemp("notes"))

    @cache
    def of(text: str) -> Rendering:
        return render(tools / "helm-4", json.loads(text), chart=chart)

    return lambda values: of(json.dumps(values))


@pytest.mark.parametrize("path", CHANGES)
def test_every_value_is_used(show: Callable[[Values], Rendering], path: str) -> None:
    base = EVERYTHING
    if path == "metrics.host":
        base = {**base, "devicePlugin": {"enableHostNetwork": True}}
    elif path == "config.name":
        base = {**base, "config": {}}
    elif path.startswith("configManager.") and path not in {"configManager.mode", "configManager.sendSignal"}:
        base = {**base, "configManager": {"mode": "daemonset"}}

    assert show(merged(base, nested(path, CHANGES[path]))) != show(base)


def test_the_same_values_are_rendered_the_same(tools: Path) -> None:
    assert render(tools / "helm-4", EVERYTHING) == render(tools / "helm-4", EVERYTHING)


def test_every_value_that_is_used_is_documented() -> None:
    """A chain of `.Values` in the templates, or of a component's own, leads to a key of values.yaml."""
    text = "".join(path.read_text() for path in (CHART / "templates").rglob("*.*"))
    used = {match.removesuffix(".") for match in re.findall(r"\.Values\.([A-Za-z][\w.]*)", text)}
    # The first two are only there to be refused, the third of older releases of the original.
    used -= {"enabled", "namespace", "nfd.enableNodeFeatureApi"}
    own = set(re.findall(r"\$own\.([A-Za-z]\w*)", text)) - {"repository", "tag", "digest"}

    assert [path for path in sorted(used) if not found(path)] == []
    assert sorted(key for key in own if key not in DEFAULTS["devicePlugin"]) == []


def found(path: str) -> bool:
    """Whether values.yaml has this path."""
    values: Any = DEFAULTS
    for key in path.split("."):
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def test_the_schema_knows_exactly_the_documented_values() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())

    documented = {path for path in leaves(DEFAULTS) if not path.startswith("nfd.")} | {"nfd.enabled"}

    assert sorted(of_schema(schema)) == sorted(
        documented | {"global", "gfd.global", "enabled", "namespace"} | WITHOUT_EFFECT
    )


def of_schema(schema: Values, prefix: str = "") -> Iterator[str]:
    """Give the paths that a schema lists, without looking into its definitions."""
    for key, value in schema["properties"].items():
        if "properties" in value:
            yield from of_schema(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def test_every_value_has_a_comment_of_its_own() -> None:
    page = (ROOT / "docs/reference/chart-values.md").read_text()

    assert [path for path in leaves(DEFAULTS) if f"| `{path}` |" not in page] == []


@pytest.mark.parametrize(
    "script",
    [pytest.param("chart_docs.py", id="the table of values"), pytest.param("manifests.py", id="static manifests")],
)
def test_generated_files_are_up_to_date(tools: Path, script: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
