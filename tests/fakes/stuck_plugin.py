"""A device plugin whose calls do not end, as when what they need hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc

from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc


class Stuck(rpc.DevicePluginServicer):
    """Answers nothing but who it is until it is `freed`; `asked` tells that a call has come."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.freed = threading.Event()

    def GetDevicePluginOptions(self, request: pb.Empty, context: grpc.ServicerContext) -> pb.DevicePluginOptions:
        return pb.DevicePluginOptions()

    def ListAndWatch(self, request: pb.Empty, context: grpc.ServicerContext) -> Iterator[pb.ListAndWatchResponse]:
        self._hang()
        yield pb.ListAndWatchResponse()

    def GetPreferredAllocation(
        self, request: pb.PreferredAllocationRequest, context: grpc.ServicerContext
    ) -> pb.PreferredAllocationResponse:
        self._hang()
        return pb.PreferredAllocationResponse()

    def Allocate(self, request: pb.AllocateRequest, context: grpc.ServicerContext) -> pb.AllocateResponse:
        self._hang()
        return pb.AllocateResponse()

    def PreStartContainer(
        self, request: pb.PreStartContainerRequest, context: grpc.ServicerContext
    ) -> pb.PreStartContainerResponse:
        self._hang()
        return pb.PreStartContainerResponse()

    def _hang(self) -> None:
        self.asked.set()
        self.freed.wait()
