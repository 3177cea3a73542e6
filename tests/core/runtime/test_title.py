"""A program shows its own name as the first word of its command line, in the real /proc."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpu_core.runtime.title import show_own_name

SCRIPT = """
import sys
from pathlib import Path
from gpu_core.runtime.title import show_own_name

shown = show_own_name({"nvidia-device-plugin"}, sys.argv)
print(shown, Path("/proc/self/cmdline").read_bytes().rstrip(b"\\0").split(b"\\0"))
"""


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        pytest.param([], [], id="nothing but its name"),
        pytest.param([], ["--mig-strategy=mixed", "", "a b"], id="with arguments, which stay as they are"),
        pytest.param(
            ["-s", "-W", "ignore"], ["--mig-strategy", "nvidia-device-plugin"], id="behind Python's own options"
        ),
    ],
)
def test_the_first_word_is_the_programs_name(tmp_path: Path, options: list[str], arguments: list[str]) -> None:
    """The original's config manager compares this word alone."""
    script = tmp_path / "nvidia-device-plugin"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, *options, script, *arguments], capture_output=True, text=True, check=True)
    words = [word.encode() for word in ("nvidia-device-plugin", *arguments)]
    while words[-1] == b"":
        words.pop()

    assert done.stdout == f"nvidia-device-plugin {words}\n"


def test_a_program_of_another_name_is_left_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "pytest"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), "nvidia-device-plugin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout == f"None {[word.encode() for word in command]}\n"


@pytest.mark.parametrize(
    ("stat", "memory"),
    [
        pytest.param("1 (x) S " + "0 " * 60, b"", id="a kernel that hides where the words are"),
        pytest.param("1 (x) S", b"", id="a short answer"),
        pytest.param("1 (x) S " + "0 " * 44 + "3 12 0", b"...something else", id="a place that holds other words"),
    ],
)
def test_nothing_is_written_where_it_is_not_certain(tmp_path: Path, stat: str, memory: bytes) -> None:
    (tmp_path / "cmdline").write_bytes(b"python\0gfd\0")
    (tmp_path / "stat").write_text(stat)
    (tmp_path / "mem").write_bytes(memory)

    assert show_own_name({"gfd"}, ["gfd"], proc=tmp_path) is None
    assert (tmp_path / "mem").read_bytes() == memory


def test_without_a_proc_file_system_nothing_happens(tmp_path: Path) -> None:
    assert show_own_name({"gfd"}, ["gfd"], proc=tmp_path / "absent") is None
