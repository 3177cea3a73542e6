"""The original's own answers: the same flags, config file and node give the same labels, or an error where it fails.

Where a case is marked as a fault of the original, ours is right instead; `DIFFERENT` says what is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_core.command import run_program
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_feature_discovery.cli import run

GOLDEN = Path(__file__).parents[1] / "golden"
FLAGS = ("--oneshot", "--use-node-feature-api=false", "--output-file=")

# A simulated node cannot lack its library.
WITHOUT_A_LIBRARY = frozenset({"labels-opt/no-library", "labels-opt/no-library-nvml-forced"})

LONG_PRODUCT = "NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Workstation-Editio-36ffb592"
LONG_PRODUCT_SHARED = "NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Workstation-36ffb592-SHARED"
LONG_MACHINE = "A-machine-type-that-is-very-long-and-goes-on-beyond-si-9dad43e7"
DIFFERENT = {
    "labels/longname/none/none": {"gpu.product": LONG_PRODUCT, "gpu.machine": LONG_MACHINE},
    "labels/longname/single/none": {"gpu.product": LONG_PRODUCT, "gpu.machine": LONG_MACHINE},
    "labels/longname/single/ts4": {"gpu.product": LONG_PRODUCT_SHARED, "gpu.machine": LONG_MACHINE},
    "labels/longname/mixed/none": {"gpu.product": LONG_PRODUCT, "gpu.machine": LONG_MACHINE},
    "labels-opt/machine-leading-dash": {"gpu.machine": "weird"},
}


def cases() -> list[Any]:
    found = [
        case
        for name in ("labels-plain", "labels-mig", "labels-options")
        for case in json.loads((GOLDEN / "labels" / f"{name}.json").read_text())["cases"]
        if case["id"] not in WITHOUT_A_LIBRARY
    ]
    return [pytest.param(case, id=case["id"]) for case in found]


def arguments(case: dict[str, Any], tmp_path: Path) -> list[str]:
    """Return the case's flags, with its files in `tmp_path` and its node simulated."""
    flags = [*FLAGS, *case["args"], f"--simulated-node={GOLDEN / 'topologies' / case['topology']}.yaml"]
    for path, text in case.get("files", {}).items():
        file = tmp_path / path.replace("/", "_")
        file.write_text(text)
        flags = [flag.replace(path, str(file)) for flag in flags]
    if "config" in case:
        config = tmp_path / "config.yaml"
        config.write_text(case["config"])
        flags.append(f"--config-file={config}")
    if "stub_commands" in case:
        events = tmp_path / "events"
        events.write_text("".join(f"{line}\n" for line in case["stub_commands"]))
        flags.append(f"--simulated-events={events}")
    return flags


@pytest.mark.parametrize("case", cases())
def test_labels_are_those_of_the_original(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_program(GPU_FEATURE_DISCOVERY, arguments(case, tmp_path), case["env"], run)
    printed = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    if "nvidia.com/gfd.timestamp" in printed:
        printed["nvidia.com/gfd.timestamp"] = "<TIMESTAMP>"
    answers = [answer["answer"] for answer in case.get("expect_any_of", [{"answer": case.get("expect")}])]
    corrected = {f"nvidia.com/{key}": value for key, value in DIFFERENT.get(case["id"], {}).items()}
    allowed = [(answer["rc"], answer.get("labels", {}) | corrected) for answer in answers]
    assert (code, without_model_sets(printed, case)) in allowed


def without_model_sets(labels: dict[str, str], case: dict[str, Any]) -> dict[str, str]:
    """Drop our additions, which only nodes with several models may have."""
    kept = {key: value for key, value in labels.items() if not key.startswith("nvidia.com/model-")}
    assert case["topology"] in ("hetero", "mixed-class") or kept == labels
    return kept
