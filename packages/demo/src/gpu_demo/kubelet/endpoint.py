"""The kubelet's connection to one plugin: dial, options, the ListAndWatch stream, and the calls for containers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import grpc

from gpu_demo.kubelet.log import EventLog, Listed, StreamEnded, StreamOpened
from gpu_demo.kubelet.model import ListedDevice, Options
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc

# The kubelet's own limits, in seconds.
DIAL_TIMEOUT = 10.0
PRE_START_TIMEOUT = 30.0
# The kubelet waits for these without limit; a test should not.
CALL_TIMEOUT = 60.0

_CHANNEL_OPTIONS: tuple[tuple[str, str | int], ...] = (
    # Without it the client would send the escaped path as authority, which Go's servers refuse.
    ("grpc.default_authority", "localhost"),
    # A new plugin behind an old path is a new connection, without the old one's back-off.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
)


_NO_LIST = ("grpc.max_receive_message_length", 8)
"""Room for the options of a plugin, and for no device."""


def _options(*, takes_lists: bool) -> tuple[tuple[str, str | int], ...]:
    return _CHANNEL_OPTIONS if takes_lists else (*_CHANNEL_OPTIONS, _NO_LIST)


class DialError(ConnectionError):
    """A plugin's socket cannot be dialled, or the kubelet stopped in the meantime."""


class Endpoint:
    """One registration of one resource. Use: `connect`, then perhaps `open_stream`, at last `close`."""

    def __init__(self, *, resource: str, socket: Path, log: EventLog, takes_lists: bool = True) -> None:
        self.resource = resource
        self.options = Options()
        self.devices: tuple[ListedDevice, ...] = ()
        self._log = log
        self._channel = grpc.insecure_channel(f"unix:{socket}", options=_options(takes_lists=takes_lists))
        self._stub = rpc.DevicePluginStub(self._channel)
        self._stream: threading.Thread | None = None
        self._closed_because: str | None = None

    def connect(self) -> None:
        """Dial and ask for the options; raises DialError when the plugin does not answer in time."""
        try:
            answer = self._stub.GetDevicePluginOptions(pb.Empty(), timeout=DIAL_TIMEOUT, wait_for_ready=True)
        except (grpc.RpcError, ValueError) as error:
            # A call on a channel that is closed already is a ValueError.
            raise DialError(self._closed_because or str(error)) from error
        self.options = Options.of(answer)

    def open_stream(self) -> None:
        """Call ListAndWatch and log every list, in a thread of its own."""
        self._log.append(StreamOpened(resource=self.resource, options=self.options))
        self._stream = threading.Thread(target=self._follow, name=f"lists of {self.resource}", daemon=True)
        self._stream.start()

    def close(self, reason: str) -> None:
        """End the stream and the connection; returns when the stream's end is logged."""
        self._closed_because = reason
        self._channel.close()
        if self._stream is not None:
            self._stream.join()

    def preferred(self, *, available: Sequence[str], must_include: Sequence[str], size: int) -> tuple[str, ...]:
        """Ask which of the available devices one container should get."""
        container = pb.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=must_include, allocation_size=size
        )
        request = pb.PreferredAllocationRequest(container_requests=[container])
        answer = self._stub.GetPreferredAllocation(request, timeout=CALL_TIMEOUT)
        return tuple(answer.container_responses[0].deviceIDs)

    def allocate(self, *containers: Sequence[str]) -> pb.AllocateResponse:
        """Ask what the containers need, each given by the ids of its devices."""
        requests = [pb.ContainerAllocateRequest(devices_ids=ids) for ids in containers]
        return self._stub.Allocate(pb.AllocateRequest(container_requests=requests), timeout=CALL_TIMEOUT)

    def pre_start(self, ids: Sequence[str]) -> None:
        """Announce that a container with these devices is about to start."""
        self._stub.PreStartContainer(pb.PreStartContainerRequest(devices_ids=ids), timeout=PRE_START_TIMEOUT)

    def _follow(self) -> None:
        try:
            call = self._stub.ListAndWatch(pb.Empty())
            for message in call:
                self.devices = tuple(ListedDevice.of(device) for device in message.devices)
                self._log.append(Listed(resource=self.resource, devices=self.devices))
            reason = "the plugin ended it"
        except (grpc.RpcError, ValueError) as error:
            reason = self._closed_because or f"the connection broke: {error}"
        self._log.append(StreamEnded(resource=self.resource, reason=reason))
