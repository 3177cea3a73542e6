"""Which of the driver's own device nodes containers are given."""

from __future__ import annotations

import pytest

from gpu_core.config.model import Imex
from gpu_core.devices.device_nodes import ImexChannel, control_nodes, imex_channels
from gpu_core.devices.model import Platform
from gpu_core.errors import ResourceError

CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"


def test_control_nodes_are_those_that_exist_on_nvml_platforms() -> None:
    there = {"/dev/nvidiactl", "/dev/nvidia-modeset"}.__contains__
    assert control_nodes(Platform.NVML, there) == ("/dev/nvidiactl", "/dev/nvidia-modeset")
    assert control_nodes(Platform.WSL, there) == ()


@pytest.mark.parametrize(
    ("there", "seen"),
    [
        pytest.param({f"/driver{CHANNEL}", CHANNEL}, f"/driver{CHANNEL}", id="below the dev root"),
        pytest.param({CHANNEL}, CHANNEL, id="in our own /dev"),
    ],
)
def test_where_an_imex_channel_is_found(there: set[str], seen: str) -> None:
    found = imex_channels(Imex(channel_ids=(0,)), "/driver", there.__contains__)
    assert found == ((ImexChannel(number=0, path=CHANNEL, seen=seen),), ())


def test_a_missing_channel_is_warned_of() -> None:
    found, (warning,) = imex_channels(Imex(channel_ids=(0,)), "/", lambda _: False)
    assert found == ()
    assert warning == f"IMEX channel 0 has no device node: looked for {CHANNEL}. Containers start without it."


def test_a_missing_channel_that_is_required_ends_the_program() -> None:
    with pytest.raises(ResourceError, match=r"looked for /r/dev/.* and /dev/.*\. Start the IMEX service"):
        imex_channels(Imex(channel_ids=(0,), required=True), "/r/", lambda _: False)
