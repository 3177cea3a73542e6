"""What an answer has to be before anybody looks into it."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_cluster.documents import decoded, is_object

OWNER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "1"}


def meta(**metadata: Any) -> dict[str, Any]:
    return {"kind": "Node", "metadata": metadata}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(meta(), id="no more than metadata"),
        pytest.param(meta(name="a", uid="1", resourceVersion="7", labels={"a": "b"}, annotations={}), id="an object"),
        pytest.param(meta(labels=None, annotations=None, ownerReferences=None), id="nulls where a thing is missing"),
        pytest.param(meta(ownerReferences=[OWNER]), id="an owner"),
        pytest.param({**meta(resourceVersion="7"), "items": [meta(name="a")]}, id="a list"),
        pytest.param({**meta(), "items": None}, id="an empty list, as some write it"),
        pytest.param({**meta(), "status": "Success"}, id="what follows a deletion"),
    ],
)
def test_an_object(document: Any) -> None:
    assert is_object(document)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(None, id="null"),
        pytest.param([meta()], id="a bare list"),
        pytest.param({}, id="an empty object"),
        pytest.param({"metadata": None}, id="no metadata"),
        pytest.param({"metadata": []}, id="metadata that is a list"),
        pytest.param(meta(name=3), id="a name that is a number"),
        pytest.param(meta(resourceVersion=7), id="a version that is a number"),
        pytest.param(meta(labels=["a"]), id="labels that are a list"),
        pytest.param(meta(labels={"a": 1}), id="a label that is a number"),
        pytest.param(meta(annotations={"a": None}), id="an annotation that is null"),
        pytest.param(meta(ownerReferences={"kind": "DaemonSet"}), id="owners that are a mapping"),
        pytest.param(meta(ownerReferences=["gfd"]), id="an owner that is a text"),
        pytest.param(meta(ownerReferences=[{**OWNER, "uid": None}]), id="an owner without a UID"),
        pytest.param({**meta(), "items": {}}, id="items that are a mapping"),
        pytest.param({**meta(), "items": [7]}, id="an item that is a number"),
        pytest.param({**meta(), "items": [{"kind": "Node"}]}, id="an item without metadata"),
    ],
)
def test_what_is_no_object(document: Any) -> None:
    assert not is_object(document)


@pytest.mark.parametrize("text", [pytest.param("[" * 100_000, id="nested without end"), pytest.param("", id="nothing")])
def test_what_nobody_can_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"nested too deeply|Expecting value"):
        decoded(text)
