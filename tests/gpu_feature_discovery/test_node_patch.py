from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_feature_discovery.outputs.node import ANNOTATION, leaving_patch, node_patch


def node(labels: dict[str, str], remembered: str | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "node-a", "labels": labels}
    if remembered is not None:
        metadata["annotations"] = {ANNOTATION: remembered}
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("present", "labels", "expected"),
    [
        pytest.param(
            node({"kubernetes.io/os": "linux"}),
            {"nvidia.com/gpu.count": "8"},
            {"labels": {"nvidia.com/gpu.count": "8"}, "annotations": {ANNOTATION: "gpu.count"}},
            id="a first label",
        ),
        pytest.param({}, {}, None, id="a node without metadata, and nothing to say"),
        pytest.param(
            node({"nvidia.com/gpu.count": "8"}, "gpu.count"),
            {"nvidia.com/gpu.count": "8"},
            None,
            id="nothing to change",
        ),
        pytest.param(
            node({"nvidia.com/gpu.count": "8"}, "gpu.count"),
            {"nvidia.com/gpu.count": "7"},
            {"labels": {"nvidia.com/gpu.count": "7"}},
            id="another value",
        ),
        pytest.param(
            node({"nvidia.com/gpu.count": "8", "nvidia.com/mig.strategy": "single"}, "gpu.count,mig.strategy"),
            {"nvidia.com/gpu.count": "8"},
            {"labels": {"nvidia.com/mig.strategy": None}, "annotations": {ANNOTATION: "gpu.count"}},
            id="a label that no longer holds is removed",
        ),
        pytest.param(
            node({"nvidia.com/gpu.deploy.driver": "true", "other.com/gpu.count": "1"}, "gpu.count"),
            {},
            {"annotations": {ANNOTATION: ""}},
            id="labels that we never set are left alone",
        ),
        pytest.param(
            node({}),
            {"other.com/x": "1", "nvidia.com/gpu.count": "8"},
            {"labels": {"nvidia.com/gpu.count": "8"}, "annotations": {ANNOTATION: "gpu.count"}},
            id="only our own prefix is ever set",
        ),
    ],
)
def test_patch(present: dict[str, Any], labels: dict[str, str], expected: dict[str, Any] | None) -> None:
    assert node_patch(present, labels) == (None if expected is None else {"metadata": expected})


NAMES = st.sampled_from(["gpu.count", "gpu.product", "mig.strategy", "gpu.clique"])
OURS = st.dictionaries(NAMES.map("nvidia.com/{}".format), st.sampled_from(["1", "2"]))
OTHERS = st.dictionaries(
    st.sampled_from(["kubernetes.io/os", "nvidia.com/gpu.deploy.driver"]), st.sampled_from(["a", "b"])
)


def apply(present: dict[str, Any], patch: dict[str, Any] | None) -> dict[str, Any]:
    """Merge a patch as RFC 7386 says, for two levels of metadata."""
    result = {"metadata": {**present["metadata"]}}
    for part, changes in (patch or {"metadata": {}})["metadata"].items():
        merged = {**result["metadata"].get(part, {}), **changes}
        result["metadata"][part] = {key: value for key, value in merged.items() if value is not None}
    return result


@given(OTHERS, OURS, OURS)
def test_after_any_two_passes_the_node_has_our_last_labels_and_all_of_the_others(
    others: dict[str, str], first: dict[str, str], second: dict[str, str]
) -> None:
    state = node(others)
    for labels in (first, second):
        state = apply(state, node_patch(state, labels))
        assert state["metadata"]["labels"] == others | labels
        assert node_patch(state, labels) is None


def test_what_is_taken_off_holds_for_the_version_that_was_read_where_it_has_one() -> None:
    found = node({"nvidia.com/gpu.count": "8", "nvidia.com/gpu.family": "hopper"}, "gpu.count,gpu.family")
    versioned = {"metadata": {**found["metadata"], "resourceVersion": "7"}}
    patch = {"annotations": {ANNOTATION: None}, "labels": {"nvidia.com/gpu.count": None}}
    inherited = {"nvidia.com/gpu.family": "hopper"}
    assert leaving_patch(found, inherited) == {"metadata": patch}
    assert leaving_patch(versioned, inherited) == {"metadata": {**patch, "resourceVersion": "7"}}
