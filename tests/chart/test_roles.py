"""Rights at the API server: each component has those that it uses."""

from __future__ import annotations

import pytest

from chart.conftest import Render
from chart.rendering import Rendering, Values, merged


def rights(rendering: Rendering) -> dict[str, list[str]]:
    """Give what each service account may do, as `verbs resource in namespace`."""
    roles = {
        (o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o["rules"]
        for o in rendering.objects
        if o["kind"] in {"Role", "ClusterRole"}
    }
    found: dict[str, list[str]] = {}
    for item in rendering.objects:
        if item["kind"] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        namespace = item["metadata"].get("namespace")
        for rule in roles[(item["roleRef"]["kind"], namespace, item["roleRef"]["name"])]:
            text = f"{' '.join(rule['verbs'])} {' '.join(rule['resources'])} in {namespace or 'the cluster'}"
            for subject in item["subjects"]:
                found.setdefault(subject["name"].removeprefix("r-nvidia-device-plugin-"), []).append(text)
    return {account: sorted(texts) for account, texts in sorted(found.items())}


PLUGIN, GFD, MPS, CONFIG = "service-account", "gfd-service-account", "mps-service-account", "config-service-account"
FINDER = "gfd-finder-service-account"
READ_NODES = "get list watch nodes in the cluster"
FEATURES = [
    "get list watch create update delete nodefeatures in gpu",
    "get pods in gpu",
    "update daemonsets/finalizers in gpu",
]
LABEL_NODES = ["get delete nodefeatures in gpu", "get patch nodes in the cluster", "get pods in gpu"]
ONE_CONFIG = {"map": {"default": "version: v1"}}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, {}, id="a plugin without a token needs no right"),
        pytest.param(
            {"gfd": {"enabled": True}},
            {GFD: sorted(FEATURES)},
            id="feature discovery writes NodeFeatures in its own namespace",
        ),
        pytest.param(
            {"gfd": {"enabled": True, "output": "node"}},
            {GFD: LABEL_NODES},
            id="or patches nodes, and removes its NodeFeature of before",
        ),
        pytest.param(
            {"gfd": {"enabled": True}, "nfd": {"enabled": None}, "runtimeClassName": "nvidia"},
            {GFD: LABEL_NODES, FINDER: LABEL_NODES},
            id="so does whoever finds the nodes",
        ),
        pytest.param({"gfd": {"enabled": True, "output": "file"}}, {}, id="or needs no right"),
        pytest.param(
            {"gfd": {"enabled": True}, "config": ONE_CONFIG},
            {PLUGIN: [READ_NODES], GFD: sorted([READ_NODES, *FEATURES]), MPS: [READ_NODES]},
            id="config managers beside the programs read nodes",
        ),
        pytest.param(
            {"gfd": {"enabled": True}, "config": ONE_CONFIG, "configManager": {"mode": "daemonset"}},
            {GFD: sorted(FEATURES), CONFIG: [READ_NODES]},
            id="one of its own is alone in that",
        ),
        pytest.param(
            {"devicePlugin": {"nodeEvents": True}},
            {PLUGIN: ["create patch events in default", READ_NODES]},
            id="Events of nodes are kept in the namespace default",
        ),
        pytest.param(
            {"config": ONE_CONFIG, "configManager": {"mode": "daemonset", "nodeEvents": True}},
            {CONFIG: ["create patch events in default", READ_NODES]},
            id="a config manager reports about configs",
        ),
        pytest.param(
            {"devicePlugin": {"nodeCondition": "GpuUnhealthy"}},
            {PLUGIN: [READ_NODES, "patch nodes/status in the cluster"]},
            id="a condition is part of the node's status",
        ),
        pytest.param(
            {"devicePlugin": {"removeTaint": "example.com/gpu-not-ready"}},
            {PLUGIN: [READ_NODES, "get patch nodes in the cluster"]},
            id="a taint is part of the Node",
        ),
        pytest.param(
            {"devicePlugin": {"removeTaint": "example.com/gpu-not-ready"}, "rbac": {"create": False}},
            {},
            id="the role about the taint can be left to others too",
        ),
        pytest.param({"rbac": {"create": False}, "gfd": {"enabled": True}}, {}, id="roles can be left to others"),
        pytest.param(
            {"serviceAccount": {"name": "theirs"}, "gfd": {"enabled": True}, "config": ONE_CONFIG},
            {"theirs": sorted([READ_NODES, *FEATURES])},
            id="one account for all holds all rights, each once",
        ),
    ],
)
def test_rights(rendered: Render, values: Values, expected: dict[str, list[str]]) -> None:
    assert rights(rendered(merged({"nfd": {"enabled": False}}, values))) == expected


def test_nobody_is_granted_what_no_pod_uses(rendered: Render) -> None:
    """Neither a role nor a binding is left where no pod mounts a token."""
    kinds = set(rendered({}).kinds())

    assert {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} & kinds == set()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, [f"r-nvidia-device-plugin-{PLUGIN}", f"r-nvidia-device-plugin-{MPS}"], id="one for each"),
        pytest.param({"serviceAccount": {"name": "theirs"}}, ["theirs"], id="one for all"),
        pytest.param({"serviceAccount": {"create": False}}, [], id="none"),
    ],
)
def test_service_accounts(rendered: Render, values: Values, expected: list[str]) -> None:
    assert sorted(rendered(values).kinds().get("ServiceAccount", [])) == sorted(expected)
