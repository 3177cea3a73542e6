"""Own resource names and own choices of devices: ignored with a warning, or honoured when asked for."""

from __future__ import annotations

from pathlib import Path

from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.sharing import ReplicatedResource, ReplicatedResources, Sharing


def write(directory: Path, text: str) -> str:
    file = directory / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


CUSTOM = """\
flags: {customResources: CUSTOM}
resources:
  gpus: [{pattern: "*", name: big}]
  mig: [{pattern: "*", name: small}]
sharing:
  timeSlicing:
    resources:
    - {name: gpu, replicas: 2, rename: shared, devices: 1}
    - {name: big, replicas: 3, rename: other, devices: [0]}
"""


def test_custom_resources_are_ignored_with_one_warning_each(tmp_path: Path) -> None:
    file = write(tmp_path, CUSTOM.replace("CUSTOM", "false"))

    loaded = load(DEVICE_PLUGIN, ["--config-file", file], {})

    hint = "is ignored, as the original ignores it; flags.customResources: true honours it"
    assert loaded.warnings == (
        f"{file}:3:3: resources.gpus: {hint}",
        f"{file}:8:32: sharing.timeSlicing.resources[0].rename: {hint}",
        f"{file}:8:48: sharing.timeSlicing.resources[0].devices: {hint}",
    )
    assert loaded.config.resources.gpus == ()
    assert loaded.config.sharing == Sharing(
        time_slicing=ReplicatedResources(
            resources=(
                ReplicatedResource(name="nvidia.com/gpu", replicas=2),
                ReplicatedResource(name="nvidia.com/big", replicas=3),
            )
        )
    )
    assert load(DEVICE_PLUGIN, ["--config-file", file, "--config-strict"], {}).warnings == loaded.warnings


def test_custom_resources_are_honoured_when_asked(tmp_path: Path) -> None:
    file = write(tmp_path, CUSTOM.replace("CUSTOM", "true"))

    loaded = load(DEVICE_PLUGIN, ["--config-file", file], {})

    assert loaded.warnings == ()
    assert [pattern.name for pattern in loaded.config.resources.mig] == ["nvidia.com/small"]
    assert loaded.config.sharing.replicated.resources[0] == ReplicatedResource(
        name="nvidia.com/gpu", replicas=2, rename="nvidia.com/shared", devices=1
    )
    effective = loaded.effective([("*", "nvidia.com/gpu")])
    assert effective["resources"] == {
        "gpus": [{"pattern": "*", "name": "nvidia.com/big"}],
        "mig": [{"pattern": "*", "name": "nvidia.com/small"}],
    }
    assert effective["sharing"]["timeSlicing"]["resources"][1] == {
        "name": "nvidia.com/big",
        "rename": "nvidia.com/other",
        "devices": ["0"],
        "replicas": 3,
    }
    assert effective["flags"]["customResources"] is True


def test_a_rename_that_is_the_default_one_is_no_warning(tmp_path: Path) -> None:
    text = (
        "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, rename: gpu.shared, replicas: 2}]}}\n"
    )

    loaded = load(DEVICE_PLUGIN, ["--config-file", write(tmp_path, text)], {})

    assert loaded.warnings == ()
    assert loaded.effective()["sharing"]["timeSlicing"]["resources"][0]["rename"] == "nvidia.com/gpu.shared"
