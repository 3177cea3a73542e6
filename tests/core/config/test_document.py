"""Reading bytes that may be anything, within bounds."""

from __future__ import annotations

import pytest

from core.config.plain_values import values
from gpu_core.config.file.document import MAX_BYTES, UnreadableError, read_document

BOMB = b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (level, level, b", ".join([b"*a%d" % (level - 1)] * 10)) for level in range(1, 10)
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", None, id="an empty file holds nothing"),
        pytest.param(b"# comment\n", None, id="nor does a comment"),
        pytest.param(b"null", None, id="null is null"),
        pytest.param(b'{"a": [1, "2"]}', {"a": [1, "2"]}, id="JSON is YAML"),
        pytest.param(b"a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}, id="line ends of Windows"),
        pytest.param("\ufeffa: 1".encode(), {"a": 1}, id="a byte order mark"),
        pytest.param("a: ä".encode("utf-16"), {"a": "ä"}, id="UTF-16"),
        pytest.param(b"---\na: 1\n---\nb: 2\n", {"a": 1}, id="the first document counts"),
        pytest.param(b"a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}, id="an alias repeats its anchor"),
        pytest.param(b"a: &x 1\nb: *x\n", {"a": 1, "b": 1}, id="so does one of a single value"),
        pytest.param(
            b"b: &b {x: 1, y: 1}\na:\n  <<: *b\n  x: 2\n",
            {"b": {"x": 1, "y": 1}, "a": {"x": 2, "y": 1}},
            id="a key wins over what is merged above it",
        ),
        pytest.param(
            b"b: &b {x: 1}\na:\n  x: 2\n  <<: *b\n",
            {"b": {"x": 1}, "a": {"x": 1}},
            id="what is merged wins over a key above it, as in Go",
        ),
        pytest.param(
            b"b: &b {x: 1}\nc: &c {x: 2}\na:\n  <<: [*b, *c]\n",
            {"b": {"x": 1}, "c": {"x": 2}, "a": {"x": 1}},
            id="of merged mappings the first wins",
        ),
        pytest.param(
            b"a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: !own x\n",
            {"a": "1", "b": 2, "c": 3.0, "d": "x"},
            id="tags are obeyed",
        ),
        pytest.param(b"'<<': 1\n", {"<<": 1}, id="a merge key in quotes is a key"),
    ],
)
def test_reads_documents(data: bytes, expected: object) -> None:
    root, _ = read_document(data, "config.yaml")

    assert values(root) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(
            b"flags:\n\tmigStrategy: none\n", r"config.yaml:2:1: this is no YAML: .*YAML indents with blanks", id="tabs"
        ),
        pytest.param(b"a: 'b\n", "config.yaml:2:1: this is no YAML", id="an open quote"),
        pytest.param(
            b"a: \x00\n", "config.yaml:1:4: this is no YAML: control characters are not allowed", id="a null byte"
        ),
        pytest.param(b"\x89PNG\r\n\x1a\n\xff\xfe", "config.yaml:1:1: this is no YAML", id="a picture"),
        pytest.param(b"a: \xff\n", "config.yaml:1:4: this is no YAML: .*; a config file is UTF-8 text", id="no UTF-8"),
        pytest.param(
            "ü: ü\nü: ".encode() + b"\xfc(\n", "config.yaml:2:4: this is no YAML", id="no UTF-8 behind some that is"
        ),
        pytest.param(b"a: *x\n", r"config.yaml:1:4: the alias \*x names no anchor above it", id="an unknown alias"),
        pytest.param(b"a: &x [*x]\n", "config.yaml:1:8: the anchor &x contains itself", id="an anchor in itself"),
        pytest.param(b"? [a]\n: b\n", "config.yaml:1:3: a key must be a single value", id="a list as a key"),
        pytest.param(b"a: {<<: 1}\n", "config.yaml:1:9: << needs a mapping", id="a merged number"),
        pytest.param(b"a: !!int x\n", "config.yaml:1:4: 'x' is no !!int", id="a tag that is not true"),
        pytest.param(
            b"a: .nan\n", "config.yaml:1:4: .nan is no number that a configuration can hold", id="not a number"
        ),
        pytest.param(b"a: " + b"[" * 100, "config.yaml:1:67: values are nested more than 64 deep", id="too deep"),
        pytest.param(b"[" * 100_000, "this is no YAML: .*nesting", id="much too deep"),
        pytest.param(BOMB, "more than 100000 values, counting what its aliases repeat", id="a bomb of aliases"),
        pytest.param(b"- a\n" * 200_000, "more than 100000 values", id="too many values"),
        pytest.param(
            b"#" * (MAX_BYTES + 1), "4194304 are the limit; a ConfigMap cannot hold more than 1 MiB", id="too large"
        ),
        pytest.param(b"%YAML 9.0\n---\na: 1\n", "this is no YAML", id="another version of YAML"),
    ],
)
def test_says_what_and_where_it_cannot_read(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        read_document(data, "config.yaml")


def test_tells_of_further_documents() -> None:
    assert read_document(b"a: 1\n---\nb: 2\n", "config.yaml")[1] is True
    assert read_document(b"a: 1\n--- [\n", "config.yaml")[1] is True
    assert read_document(b"a: 1\n...\n%YAML 9.0\n---\n", "config.yaml")[1] is True
    assert read_document(b"a: 1\n", "config.yaml")[1] is False
