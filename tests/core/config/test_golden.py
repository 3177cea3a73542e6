"""The original's recorded answers: the same configuration from the same file, flags and variables, or a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_core.config.load import load
from gpu_core.config.reference import PROGRAMS
from gpu_core.errors import SuiteError

GOLDEN = Path(__file__).parents[2] / "golden" / "config"
RECORDED_AS = "/cfg/config.yaml"
PROGRAM = {program.name: program for program in PROGRAMS}
# gpu-feature-discovery was recorded with these in front.
ALWAYS = {"gpu-feature-discovery": ["--oneshot", "--use-node-feature-api=false", "--output-file="]}
# Recorded with an error that only the node's hardware causes.
HARDWARE_ERRORS = {"config/plugin/imex-0-required"}


def cases() -> list[Any]:
    recorded = [
        case
        for name in ("config-files.json", "config-precedence.json")
        for case in json.loads((GOLDEN / name).read_text(encoding="utf-8"))["cases"]
        if "stdout" not in case["expect"]  # Help and version are another test's.
    ]
    return [pytest.param(case, id=case["id"]) for case in recorded]


@pytest.mark.parametrize("case", cases())
def test_the_effective_config_is_the_originals(case: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    arguments = [*ALWAYS.get(case["program"], []), *case["args"]]
    environ = {name: value.replace(RECORDED_AS, str(file)) for name, value in case["env"].items()}
    if "config" in case:
        file.write_bytes(case["config"].encode())
        if "CONFIG_FILE" not in environ:
            arguments.append(f"--config-file={file}")
    # Where we decided otherwise, the reference is what is right for us.
    expected = case.get("reference", case["expect"])

    try:
        loaded = load(PROGRAM[case["program"]], arguments, environ)
    except SuiteError:
        assert expected["rc"] == 1
        assert "config" not in expected
        return
    single = loaded.effective()["flags"]["migStrategy"] == "single"
    assert loaded.effective([("*", "nvidia.com/gpu")] if single else []) == expected.get("config")
    refused = expected["rc"] == 1 and case["id"] not in HARDWARE_ERRORS
    assert bool(loaded.refused) == refused
