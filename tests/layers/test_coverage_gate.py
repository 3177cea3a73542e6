"""What the gate says of pure modules that no test has run whole."""

from __future__ import annotations

from coverage_gate import left_out, pure_files


def test_lines_are_named_in_ranges_and_branches_by_where_they_lead() -> None:
    told = {
        "files": {
            "b.py": {"missing_lines": [3, 4, 5, 9], "missing_branches": [[3, 4], [8, 9], [7, 10], [11, -6]]},
            "a.py": {"missing_lines": [1], "missing_branches": []},
            "whole.py": {"missing_lines": [], "missing_branches": []},
        }
    }
    assert list(left_out(told)) == ["a.py: 1", "b.py: 3-5, 9, 7->10, 11->end"]


def test_the_gate_looks_at_pure_modules_of_every_program_and_at_no_edge() -> None:
    files = pure_files()
    assert "packages/core/src/gpu_core/health/book.py" in files
    assert "packages/core/src/gpu_core/runtime/files.py" not in files
    assert {file.split("/")[1] for file in files} == {
        *("cluster", "config-manager", "core", "device-plugin"),
        *("gpu-feature-discovery", "kubelet", "mps-control-daemon"),
    }
