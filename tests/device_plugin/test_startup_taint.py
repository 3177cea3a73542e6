"""What is left of a Node's taints without the start-up taint."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_cluster.node.taints import NodeTaints, is_taint_key

KEY = "example.com/gpu-not-ready"
OTHER = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}


def node(*taints: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "resourceVersion": "7"},
        "spec": {"taints": list(taints), "podCIDR": "10.0.0.0/24"},
    }


def read(document: dict[str, Any]) -> NodeTaints:
    found = NodeTaints.of(document)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("taints", "left"),
    [
        pytest.param([{"key": KEY, "effect": "NoSchedule"}], [], id="the only one"),
        pytest.param([{"key": KEY, "value": "true", "effect": "NoExecute"}, OTHER], [OTHER], id="with a value"),
        pytest.param(
            [{"key": KEY, "effect": "NoSchedule"}, OTHER, {"key": KEY, "effect": "NoExecute"}],
            [OTHER],
            id="with each effect, others in between as they were",
        ),
    ],
)
def test_taints_of_the_key_go_and_others_stay_as_they_are(taints: list[Any], left: list[Any]) -> None:
    found = read(node(*taints))
    assert found.has(KEY)
    assert found.without(KEY) == {"metadata": {"resourceVersion": "7"}, "spec": {"taints": left}}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(node(OTHER), id="another one"),
        pytest.param(node({"key": f"{KEY}-yet"}), id="one whose key is longer"),
        pytest.param(node("nonsense", 3), id="what is none"),
        pytest.param(node(), id="an empty list"),
        pytest.param({"metadata": {"resourceVersion": "7"}, "spec": {"taints": None}}, id="no list"),
        pytest.param({"metadata": {"resourceVersion": "7"}}, id="no spec"),
    ],
)
def test_a_node_without_such_a_taint_has_none(document: dict[str, Any]) -> None:
    assert not read(document).has(KEY)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"metadata": None},
        {"metadata": {"name": "a"}},
        {"metadata": {"resourceVersion": "7"}, "spec": "no"},
        {"metadata": {"resourceVersion": "7"}, "spec": {"taints": {"key": KEY}}},
    ],
    ids=str,
)
def test_what_is_no_node_is_told_from_one(document: dict[str, Any]) -> None:
    assert NodeTaints.of(document) is None


@pytest.mark.parametrize("text", ["gpu", KEY, "startup-taint.cluster-autoscaler.kubernetes.io/gpu", "a.b/c_D.e-f"])
def test_a_key_is_a_name_perhaps_with_a_prefix(text: str) -> None:
    assert is_taint_key(text)


@pytest.mark.parametrize(
    "text", ["", "a=b", "a:NoSchedule", "a=b:NoSchedule", "a/b/c", "-a", "a-", "a b", "A.b/c", "x" * 64, "a\n"]
)
def test_a_key_has_no_value_and_no_effect(text: str) -> None:
    assert not is_taint_key(text)
