"""A socket that cannot be made: the reason, in words that stay the same from try to try."""

from __future__ import annotations

from pathlib import Path

import pytest

from device_plugin.listener import Listener
from fakes.plugin_server import PluginServer
from gpu_core.errors import KubeletError


def test_the_kernel_says_why_a_socket_cannot_be_made(socket_dir: Path) -> None:
    path = socket_dir / "missing" / "a.sock"
    with PluginServer(socket_dir) as servicer, pytest.raises(KubeletError) as refused:
        Listener(path, servicer).open()
    assert str(refused.value) == (
        f"The socket {path} cannot be made: No such file or directory. "
        "Mount the kubelet's device plugin directory there, writable."
    )
