"""A device plugin small enough to see through: it serves the lists it is given and remembers what it was asked."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc

from fakes.patience import PATIENCE
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc


def device(id_: str, health: str = "Healthy", numa_node: int | None = None) -> pb.Device:
    """Make a device as a plugin lists it."""
    topology = None if numa_node is None else pb.TopologyInfo(nodes=[pb.NUMANode(ID=numa_node)])
    return pb.Device(ID=id_, health=health, topology=topology)


class PluginServer(rpc.DevicePluginServicer):
    """A plugin for one resource. `send` a list and every open stream gets it; `asked` holds the requests."""

    def __init__(
        self, directory: Path, *, resource: str = "example.com/gpu", options: pb.DevicePluginOptions | None = None
    ) -> None:
        self.resource = resource
        self.endpoint = resource.replace("/", "-") + ".sock"
        self.options = options or pb.DevicePluginOptions()
        self.asked: list[object] = []
        self.authorities: list[str] = []
        self._kubelet = directory / "kubelet.sock"
        self._streams: list[queue.SimpleQueue[pb.ListAndWatchResponse | None]] = []
        self._latest: pb.ListAndWatchResponse | None = None
        self._lock = threading.Lock()
        self._server = grpc.server(ThreadPoolExecutor(max_workers=4))
        rpc.add_DevicePluginServicer_to_server(self, self._server)
        self._server.add_insecure_port(f"unix:{directory / self.endpoint}")

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_streams()
        self._server.stop(None).wait()

    def register(self, *, version: str = "v1beta1", timeout: float = PATIENCE) -> None:
        """Register with the kubelet as plugins do; raises grpc.RpcError."""
        request = pb.RegisterRequest(
            version=version, endpoint=self.endpoint, resource_name=self.resource, options=self.options
        )
        with grpc.insecure_channel(f"unix:{self._kubelet}") as channel:
            rpc.RegistrationStub(channel).Register(request, timeout=timeout)

    def send(self, *devices: pb.Device) -> None:
        """Make these the current list."""
        message = pb.ListAndWatchResponse(devices=devices)
        with self._lock:
            self._latest = message
            for stream in self._streams:
                stream.put(message)

    def end_streams(self) -> None:
        """End every open stream without an error."""
        with self._lock:
            for stream in self._streams:
                stream.put(None)

    def GetDevicePluginOptions(self, request: pb.Empty, context: grpc.ServicerContext) -> pb.DevicePluginOptions:
        return self.options

    def ListAndWatch(self, request: pb.Empty, context: grpc.ServicerContext) -> Iterator[pb.ListAndWatchResponse]:
        stream: queue.SimpleQueue[pb.ListAndWatchResponse | None] = queue.SimpleQueue()
        with self._lock:
            self._streams.append(stream)
            if self._latest is not None:
                stream.put(self._latest)
        if not context.add_callback(lambda: stream.put(None)):
            return  # The kubelet has gone already.
        while (message := stream.get()) is not None:
            yield message

    def GetPreferredAllocation(
        self, request: pb.PreferredAllocationRequest, context: grpc.ServicerContext
    ) -> pb.PreferredAllocationResponse:
        self.asked.append(request)
        last = [
            pb.ContainerPreferredAllocationResponse(deviceIDs=sorted(c.available_deviceIDs)[-c.allocation_size :])
            for c in request.container_requests
        ]
        return pb.PreferredAllocationResponse(container_responses=last)

    def Allocate(self, request: pb.AllocateRequest, context: grpc.ServicerContext) -> pb.AllocateResponse:
        self.asked.append(request)
        answers = [
            pb.ContainerAllocateResponse(envs={"DEVICES": ",".join(container.devices_ids)})
            for container in request.container_requests
        ]
        return pb.AllocateResponse(container_responses=answers)

    def PreStartContainer(
        self, request: pb.PreStartContainerRequest, context: grpc.ServicerContext
    ) -> pb.PreStartContainerResponse:
        self.asked.append(request)
        return pb.PreStartContainerResponse()
