"""A socket that cannot be made: the reason, in words that stay the same from try to try. Calls that do not end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from device_plugin.plugin_api.servicer import plugin_listener
from fakes.plugin_server import PluginServer
from fakes.stuck_plugin import Stuck
from gpu_core.errors import KubeletError
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc


def test_the_kernel_says_why_a_socket_cannot_be_made(socket_dir: Path) -> None:
    path = socket_dir / "missing" / "a.sock"
    with PluginServer(socket_dir) as servicer, pytest.raises(KubeletError) as refused:
        plugin_listener(path, servicer).open()
    assert str(refused.value) == (
        f"The socket {path} cannot be made: No such file or directory. "
        "Mount the kubelet's device plugin directory there, writable, or name another one with --device-plugin-dir."
    )


def test_a_call_that_is_stuck_is_left_when_its_time_is_over(socket_dir: Path) -> None:
    path, servicer = socket_dir / "a.sock", Stuck()
    listener = plugin_listener(path, servicer)
    listener.open()
    with grpc.insecure_channel(f"unix:{path}") as channel:
        call = rpc.DevicePluginStub(channel).Allocate.future(pb.AllocateRequest())
        assert servicer.asked.wait(20)
        listener.close(0.1)
        # The caller is not left waiting, and the path is free.
        assert isinstance(call.exception(timeout=20), grpc.RpcError)
    assert not path.exists()
    servicer.freed.set()


_ENDS = """
import sys
from pathlib import Path
import grpc
sys.path.insert(0, sys.argv[2])
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc
from device_plugin.plugin_api.servicer import plugin_listener
from fakes.stuck_plugin import Stuck
path, servicer = Path(sys.argv[1]), Stuck()
listener = plugin_listener(path, servicer)
listener.open()
channel = grpc.insecure_channel(f"unix:{path}")
call = rpc.DevicePluginStub(channel).Allocate.future(pb.AllocateRequest())
servicer.asked.wait()
listener.close(0.1)
print("closed")
"""


def test_a_call_that_is_stuck_does_not_keep_the_process_from_ending(socket_dir: Path) -> None:
    command = [sys.executable, "-c", _ENDS, str(socket_dir / "a.sock"), str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr
