from __future__ import annotations

import pytest

from config_manager.choose import check


@pytest.mark.parametrize(
    ("content", "programs", "errors"),
    [
        pytest.param(b"", ["nvidia-device-plugin"], 0, id="an empty file is a config"),
        pytest.param(b"version: v1\nflags:\n  migStrategy: mixed\n", ["nvidia-device-plugin"], 0, id="a good file"),
        pytest.param(b"flags: {nonsense: 1}\n", ["nvidia-device-plugin"], 0, id="unknown keys are no error"),
        pytest.param(
            b"sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}\n",
            ["nvidia-device-plugin", "gfd", "mps-control-daemon"],
            0,
            id="one replica, which shares nothing, for every program",
        ),
        pytest.param(b"flags: [\n", ["nvidia-device-plugin"], 1, id="broken syntax"),
        pytest.param(b"version: v2\n", ["nvidia-device-plugin"], 1, id="an unknown version"),
        pytest.param(
            b"flags: {migStrategy: both}\n", ["/usr/bin/nvidia-device-plugin"], 1, id="a word the plugin does not know"
        ),
        pytest.param(
            b"flags: {plugin: {deviceIDStrategy: x}}\n",
            ["gfd"],
            0,
            id="a wrong word that only another program obeys",
        ),
        pytest.param(
            b"flags: {plugin: {deviceIDStrategy: x}}\n",
            ["my-wrapper"],
            1,
            id="an unknown program stands for all of them",
        ),
    ],
)
def test_what_is_wrong_with_a_file(content: bytes, programs: list[str], errors: int) -> None:
    found = check(content, "a.yaml", programs)
    assert len(found) == errors
    assert all("a.yaml" in line for line in found)
