"""How node labels come about: through Node Feature Discovery where it is said to be there, else by ourselves."""

from __future__ import annotations

from typing import Any

import pytest

from chart.conftest import Render
from chart.rendering import ABSENT, Rendering, Values, merged
from chart.test_config_manager import BASE, environment

GFD = f"DaemonSet/{BASE}-gfd"
FINDER = f"DaemonSet/{BASE}-gfd-finder"
ON: Values = {"gfd": {"enabled": True}}
LINUX = {"kubernetes.io/os": "linux"}
ZONE: Values = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
        }
    }
}
UNFOUND = {"key": "nvidia.com/gpu.present", "operator": "NotIn", "values": ["true"]}


def told(rendering: Rendering, *names: str) -> tuple[str | None, ...]:
    """Give what gpu-feature-discovery is told in these variables."""
    found = environment(rendering, f"{GFD}: pod.containers[gpu-feature-discovery-ctr]")
    return tuple(found.get(name) for name in names)


@pytest.mark.parametrize(
    ("values", "publish"),
    [
        pytest.param({}, "node", id="nobody said that NFD is there: straight to the Node"),
        pytest.param({"nfd": {"enabled": True}}, "node", id="an NFD that this package lacks is none"),
        pytest.param({"nfd": {"enableNodeFeatureApi": False}}, "node", id="whatever NFD was told before"),
        pytest.param({"nfd": {"enabled": False}}, None, id="with an NFD, as the configs say"),
        pytest.param(
            {"nfd": {"enabled": False, "enableNodeFeatureApi": True}}, "nodefeature", id="or as older values said"
        ),
        pytest.param({"nfd": {"enabled": False, "enableNodeFeatureApi": False}}, "file", id="also for a file"),
        pytest.param({"gfd": {"output": "nodeFeature"}}, "nodefeature", id="what is asked for wins"),
        pytest.param({"gfd": {"output": "file"}}, "file", id="in every form"),
        pytest.param({"nfd": {"enabled": False}, "gfd": {"output": "node"}}, "node", id="also with an NFD"),
        pytest.param(
            {"config": {"map": {"default": "flags: {useNodeFeatureAPI: false}"}}}, "node", id="the rule beats configs"
        ),
    ],
)
def test_where_labels_go(rendered: Render, values: Values, publish: str | None) -> None:
    assert told(rendered(merged(ON, values)), "GFD_PUBLISH") == (publish,)


@pytest.mark.parametrize(
    ("values", "selector", "affinity", "fails"),
    [
        pytest.param({}, LINUX, ABSENT, "false", id="on every Linux node, where it waits for a driver"),
        pytest.param({"failOnInitError": True}, LINUX, ABSENT, "false", id="whatever the plugin does"),
        pytest.param({"nodeSelector": {"pool": "a"}}, {"pool": "a", **LINUX}, ABSENT, "false", id="of those selected"),
        pytest.param(
            {"nodeSelector": {"nvidia.com/gpu.present": "true"}},
            LINUX,
            ABSENT,
            "false",
            id="not only on those that it has to find",
        ),
        pytest.param({"affinity": ZONE}, LINUX, ZONE, "false", id="an affinity of the user's is kept"),
        pytest.param({"affinity": {}}, LINUX, ABSENT, "false", id="an empty one is the default one"),
        pytest.param({"nfd": {"enabled": True}}, LINUX, ABSENT, "false", id="the same without the NFD that was wished"),
    ],
)
def test_without_nfd_it_looks_at_every_node(
    rendered: Render, values: Values, selector: Values, affinity: Any, fails: str
) -> None:
    rendering = rendered(merged(ON, values))

    assert rendering.at(f"{GFD}: pod.nodeSelector") == selector
    assert rendering.at(f"{GFD}: pod.affinity") == affinity
    assert told(rendering, "FAIL_ON_INIT_ERROR") == (fails,)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"nfd": {"enabled": False}}, id="with an NFD that finds the nodes"),
        pytest.param({"nfd": {"enabled": False}, "gfd": {"output": "node"}}, id="even if labels do not go through it"),
        pytest.param({"gfd": {"output": "nodeFeature"}}, id="or if they are said to"),
    ],
)
def test_it_runs_where_the_plugin_runs(rendered: Render, values: Values) -> None:
    rendering = rendered(merged(ON, values))

    assert rendering.at(f"{GFD}: pod.affinity") == rendering.at(f"DaemonSet/{BASE}: pod.affinity") != ABSENT
    assert rendering.at(f"{GFD}: pod.nodeSelector") is ABSENT
    assert told(rendering, "FAIL_ON_INIT_ERROR") == (None,)


def test_the_plugin_waits_for_the_label_that_it_sets(rendered: Render) -> None:
    terms = rendered(ON).at(f"DaemonSet/{BASE}: pod.affinity")["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]

    assert {"matchExpressions": [{"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]}]} in terms


@pytest.mark.parametrize(
    ("values", "terms"),
    [
        pytest.param({}, [{"matchExpressions": [UNFOUND]}], id="on all that nobody found"),
        pytest.param(
            {"affinity": ZONE},
            [{"matchExpressions": [{"key": "zone", "operator": "Exists"}, UNFOUND]}],
            id="of those that the user means",
        ),
    ],
)
def test_with_a_runtime_class_nodes_are_found_without_it(rendered: Render, values: Values, terms: list[Values]) -> None:
    """A node without that runtime cannot start gpu-feature-discovery, which cannot see the driver without it."""
    rendering = rendered(merged({**ON, "runtimeClassName": "nvidia"}, values))
    spread = rendering.at(f"{FINDER}: pod.affinity")["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    container = f"{FINDER}: pod.containers[gpu-feature-discovery-finder-ctr]"

    assert (rendering.at(f"{GFD}: pod.runtimeClassName"), rendering.at(f"{FINDER}: pod.runtimeClassName")) == (
        "nvidia",
        ABSENT,
    )
    assert spread == {"nodeSelectorTerms": terms}
    assert rendering.at(f"{FINDER}: pod.nodeSelector") == LINUX
    assert rendering.at(f"{GFD}: pod.affinity") == rendering.at(f"DaemonSet/{BASE}: pod.affinity")
    assert environment(rendering, container) == {
        "NODE_NAME": "spec.nodeName",
        "NAMESPACE": "metadata.namespace",
        "POD_NAME": "metadata.name",
        "FAIL_ON_INIT_ERROR": "false",
        "GFD_PUBLISH": "node",
        "METRICS_ADDRESS": ":9481",
    }


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="without a runtime class"),
        pytest.param({"runtimeClassName": "nvidia", "nfd": {"enabled": False}}, id="with an NFD"),
        pytest.param({"runtimeClassName": "nvidia", "simulatedNode": "t4"}, id="on simulated nodes"),
        pytest.param({"runtimeClassName": "nvidia", "gfd": {"enabled": False}}, id="without labels"),
    ],
)
def test_nobody_else_looks_for_nodes(rendered: Render, values: Values) -> None:
    assert f"{BASE}-gfd-finder" not in rendered(merged(ON, values)).kinds()["DaemonSet"]


def test_a_finder_needs_no_configs(rendered: Render) -> None:
    rendering = rendered({**ON, "runtimeClassName": "nvidia", "config": {"map": {"default": ""}}})

    assert [c["name"] for c in rendering.at(f"{FINDER}: pod.containers")] == ["gpu-feature-discovery-finder-ctr"]
    assert rendering.at(f"{FINDER}: pod.initContainers") is ABSENT
    assert rendering.at(f"{FINDER}: pod.volumes") is ABSENT
