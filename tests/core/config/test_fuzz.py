"""Files that are almost valid: never a traceback, never a hang, and always either a config or a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.command.check import check
from gpu_core.command.check_config import as_json, as_text
from gpu_core.config.build import build_config
from gpu_core.config.effective import document
from gpu_core.config.file.decode import parse_text
from gpu_core.config.programs.flags import CommandLine
from gpu_core.config.reference import PROGRAMS
from gpu_core.config.rules import judge_config, judge_words, without_custom_resources

GOLDEN = Path(__file__).parents[2] / "golden" / "config" / "config-files.json"
TEXTS = sorted({case["config"].encode() for case in json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]})
# What YAML, Go and the model treat in their own ways.
SPLINTERS = [
    b"\t", b"\n", b"  ", b": ", b"- ", b"{", b"}", b"[", b"]", b"'", b'"', b"&a ", b"*a", b"<<: ", b"!!int ", b"!!str ",
    b"#", b"---\n", b"...\n", b"|", b">", b"%", b"@", b"`", b"~", b"null", b"yes", b"0x", b"1e999", b".nan", b"-1",
    b"0:1", b"99999999999999999999", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"? ", b",", b"replicas: ",
    b"mps:", b"null: ",
]  # fmt: skip


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """Return a valid file with a few cuts, insertions, repetitions and swaps."""
    data: bytes = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        splinter = draw(st.sampled_from(SPLINTERS) | st.binary(max_size=4))
        match draw(st.integers(0, 3)):
            case 0:
                data = data[:start] + data[end:]
            case 1:
                data = data[:start] + splinter + data[start:]
            case 2:
                data = data[:end] + data[start:end] * draw(st.integers(1, 20)) + data[end:]
            case _:
                data = data[:start] + splinter + data[end:]
    return data


def judge(data: bytes) -> None:
    """Do what programs and check-config do with a file."""
    for program in PROGRAMS:
        parsed = parse_text(data, "config.yaml")
        layer, _ = without_custom_resources(parsed.layer, parsed.positions)
        problems = parsed.problems + judge_words(layer, program, parsed.positions)
        if not problems.errors:
            config = build_config(layer)
            assert config.version == "v1"
            judge_config(config, layer, program)
            effective = document(layer, program)
            assert json.loads(json.dumps(effective)) == effective
        report = check(parsed, program, CommandLine(), {})
        assert as_text(report, "config.yaml").endswith("valid.\n")
        assert json.loads(as_json(report, "config.yaml"))["valid"] is report.usable
        # What is not strictly valid must have a reason, and what cannot be used is not valid.
        assert report.usable or report.problems.errors
        assert not (report.usable and problems.errors)


@given(damaged_files())
def test_a_damaged_file_is_used_or_refused_with_a_reason(data: bytes) -> None:
    judge(data)


@given(st.binary(max_size=200))
def test_so_is_any_other_file(data: bytes) -> None:
    judge(data)


@pytest.mark.parametrize("length", [0, 1, 17, 100, 500])
def test_so_is_a_file_that_is_cut_short(length: int) -> None:
    for data in TEXTS[::8]:
        judge(data[:length])
