"""One replica, as templates write it where nothing is to be shared: the entry counts as absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.options import Program
from gpu_core.config.reference import PROGRAMS
from gpu_core.config.sharing import ReplicatedResource
from gpu_core.config.words import SharingStrategy

READERS = [program for program in PROGRAMS if program.reads_config]
GPU = "{name: nvidia.com/gpu, replicas: 1}"
MIG = "{name: nvidia.com/mig-1g.5gb, replicas: 3}"


def write(directory: Path, text: str) -> str:
    file = directory / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return f"--config-file={file}"


@pytest.mark.parametrize("program", [pytest.param(program, id=program.name) for program in READERS])
@pytest.mark.parametrize(
    "sharing",
    [
        pytest.param(f"{{timeSlicing: {{resources: [{GPU}]}}}}", id="time slicing"),
        pytest.param(f"{{mps: {{resources: [{GPU}]}}}}", id="MPS, which needs no directory then"),
        pytest.param(
            f"{{timeSlicing: {{renameByDefault: true, failRequestsGreaterThanOne: true, resources: [{GPU}, {GPU}]}}}}",
            id="several entries, renamed",
        ),
        pytest.param(f"{{timeSlicing: {{resources: [{GPU}]}}, mps: {{resources: [{GPU}]}}}}", id="both strategies"),
    ],
)
def test_a_file_that_shares_with_one_container_is_one_without_sharing(
    program: Program[Any], sharing: str, tmp_path: Path
) -> None:
    mixed = "flags: {migStrategy: mixed}\n"
    shared = load(program, [write(tmp_path, f"{mixed}sharing: {sharing}\n"), "--config-strict"], {})
    plain = load(program, [write(tmp_path, mixed)], {})

    assert shared.effective() == plain.effective()
    assert (shared.config.sharing.strategy, shared.config.sharing.entries) == (SharingStrategy.NONE, ())
    assert not shared.config.sharing.fail_requests_greater_than_one
    assert shared.warnings == plain.warnings == ()


@pytest.mark.parametrize(
    ("sharing", "position"),
    [
        pytest.param(f"{{timeSlicing: {{resources: [{GPU}, {MIG}]}}}}", 1, id="beside an entry that counts"),
        pytest.param(
            f"{{timeSlicing: {{resources: [{MIG}]}}, mps: {{resources: [{GPU}]}}}}",
            0,
            id="under MPS, so that time slicing counts",
        ),
    ],
)
def test_what_else_is_shared_stays(sharing: str, position: int, tmp_path: Path) -> None:
    loaded = load(DEVICE_PLUGIN, [write(tmp_path, f"sharing: {sharing}\n")], {})

    entry = ReplicatedResource(name="nvidia.com/mig-1g.5gb", replicas=3)
    assert loaded.config.sharing.entries == ((position, entry),)
    assert loaded.config.sharing.strategy is SharingStrategy.TIME_SLICING
    shown = {"name": "nvidia.com/mig-1g.5gb", "devices": "all", "replicas": 3}
    assert loaded.effective()["sharing"] == {"timeSlicing": {"resources": [shown]}}
    assert loaded.warnings == ()


def test_what_is_wrong_behind_it_is_told_with_the_position_in_the_file(tmp_path: Path) -> None:
    flag = write(
        tmp_path,
        "flags: {customResources: true}\n"
        "sharing:\n"
        "  timeSlicing:\n"
        "    resources:\n"
        "    - {name: nvidia.com/gpu, replicas: 1}\n"
        '    - {name: nvidia.com/gpu, replicas: 2, devices: ["0", "0"]}\n',
    )

    (warning,) = load(DEVICE_PLUGIN, [flag], {}).warnings
    assert warning.endswith(
        "config.yaml:6:43: sharing.timeSlicing.resources[1].devices: 0 is named 2 times; name each device once"
    )
