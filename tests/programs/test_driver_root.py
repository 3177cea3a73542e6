"""The plugin, gpu-feature-discovery and the MPS daemon find the driver at the same places of a driver root."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.driver_root import put
from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
from gpu_core.devices.backend import Backend
from gpu_core.devices.nvml.library import LIBRARY
from gpu_core.errors import DriverMissingError
from gpu_core.hardware.source import node_source


def plugin(flags: list[str]) -> Backend:
    loaded = load(DEVICE_PLUGIN, flags, {})
    return node_source().open(loaded.config)


def gfd(flags: list[str]) -> Backend:
    loaded = load(GPU_FEATURE_DISCOVERY, flags, {})
    return node_source().open(loaded.config)


def mps(flags: list[str]) -> Backend:
    loaded = load(MPS_CONTROL_DAEMON, flags, {})
    return node_source().open(loaded.config)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a driver of its own")
@pytest.mark.parametrize("open_", [plugin, gfd, mps])
@pytest.mark.parametrize(
    ("place", "flags"),
    [
        pytest.param("usr/lib64", [], id="a directory of distributions"),
        pytest.param("opt/nvidia/lib64", [], id="one of ld.so.conf.d"),
        pytest.param("elsewhere", ["--driver-library-path=/elsewhere"], id="one that the user names"),
    ],
)
def test_a_driver_root_is_searched(
    open_: Callable[[list[str]], Backend], place: str, flags: list[str], tmp_path: Path
) -> None:
    put(tmp_path, "etc/ld.so.conf.d/nvidia.conf", b"/opt/nvidia/lib64\n")
    # What is no library shows by its name in the message that it was tried.
    put(tmp_path, f"{place}/{LIBRARY}", b"no library")
    with pytest.raises(DriverMissingError, match=re.escape(f"{tmp_path}/{place}/{LIBRARY} is there, but cannot")):
        open_([f"--driver-root-ctr-path={tmp_path}", *flags])
