"""Answers the kubelet's calls for one resource."""

# ruff: noqa: ARG002  gRPC decides what these methods are given.

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import grpc

from device_plugin.allocation.allocate import Rules, allocate
from device_plugin.metrics import ALLOCATIONS, LATENCY, REFUSALS
from device_plugin.plugin_api.messages import ONLOOKER, OPTIONS, Listing, container_message, list_message
from device_plugin.plugin_api.streams import MOST, Streams
from gpu_core.errors import AllocationError
from gpu_core.preference.closeness import Links
from gpu_core.preference.preferred import Impossible, prefer
from gpu_core.resources.model import Resource
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.published import Published
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc
from gpu_kubelet.listener import Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a resource offers at present: all that is needed to answer, read without any lock."""

    resource: Resource
    links: Links
    rules: Rules


_CALLS = 8
"""Calls of one resource that may be answered at once, besides open streams."""

_LONGEST_REASON = 1000
"""Characters of what is said about a request: it may name devices, and a device's name may have any length."""


class DevicePlugin(rpc.DevicePluginServicer):
    """The servicer of one resource. `serving` is asked anew for every call; `new_id` gives unique texts."""

    def __init__(
        self,
        serving: Callable[[], Serving],
        lists: Published[Listing],
        streams: Streams,
        *,
        counters: Counters,
        new_id: Callable[[], str],
    ) -> None:
        self._serving = serving
        self._lists = lists
        self._streams = streams
        self._counters = counters
        self._new_id = new_id

    def GetDevicePluginOptions(self, request: pb.Empty, context: grpc.ServicerContext) -> pb.DevicePluginOptions:
        """Say what else may be asked for."""
        return OPTIONS

    def ListAndWatch(self, request: pb.Empty, context: grpc.ServicerContext) -> Iterator[pb.ListAndWatchResponse]:
        """Send the list now and after every change, until the kubelet goes or we stop."""
        gone = threading.Event()

        def over() -> None:
            gone.set()
            self._lists.wake()

        onlooker = ONLOOKER in context.invocation_metadata()
        number = self._streams.begin(over, context.cancel, onlooker=onlooker)
        if number is None:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many streams are open. Close those not in use.")
        try:
            if not context.add_callback(over):
                return
            version = 0
            while (latest := self._lists.wait_newer(version, unless=gone.is_set)) is not None:
                version, devices = latest
                yield list_message(devices)
                # Being asked for the next message means that gRPC has taken this one.
                self._streams.sent(number, version)
        finally:
            self._streams.end(number)

    def GetPreferredAllocation(
        self, request: pb.PreferredAllocationRequest, context: grpc.ServicerContext
    ) -> pb.PreferredAllocationResponse:
        """Say which of the available devices each container had best get; never an error.

        An error would end the admission of the pod, an empty answer leaves the choice to the kubelet.
        """
        serving = self._serving()
        began = time.perf_counter()
        responses = [
            pb.ContainerPreferredAllocationResponse(deviceIDs=_preferred(serving, container))
            for container in request.container_requests
        ]
        self._took("GetPreferredAllocation", serving, began)
        return pb.PreferredAllocationResponse(container_responses=responses)

    def Allocate(self, request: pb.AllocateRequest, context: grpc.ServicerContext) -> pb.AllocateResponse:
        """Say what each container needs to use its devices."""
        serving = self._serving()
        began = time.perf_counter()
        try:
            granted = [
                allocate(serving.resource, container.devices_ids, serving.rules, self._new_id())
                for container in request.container_requests
            ]
        except AllocationError as error:
            self._refuse(context, serving, error)
        self._took("Allocate", serving, began)
        self._counters.add(ALLOCATIONS, len(granted), resource=serving.resource.name)
        return pb.AllocateResponse(container_responses=[container_message(response) for response in granted])

    def PreStartContainer(
        self, request: pb.PreStartContainerRequest, context: grpc.ServicerContext
    ) -> pb.PreStartContainerResponse:
        """Do nothing: devices are not prepared here."""
        return pb.PreStartContainerResponse()

    def _took(self, call: str, serving: Serving, began: float) -> None:
        self._counters.observe(LATENCY, time.perf_counter() - began, resource=serving.resource.name, call=call)

    def _refuse(self, context: grpc.ServicerContext, serving: Serving, error: AllocationError) -> NoReturn:
        self._counters.add(REFUSALS, resource=serving.resource.name)
        # It may name every device of a long list, and travels in a header, which has room for a few kilobytes.
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, _shortened(str(error)))


def _preferred(serving: Serving, container: pb.ContainerPreferredAllocationRequest) -> tuple[str, ...]:
    chosen = prefer(
        serving.resource,
        serving.links,
        container.available_deviceIDs,
        container.must_include_deviceIDs,
        container.allocation_size,
    )
    if isinstance(chosen, Impossible):
        get_logger().warning(
            "The kubelet's question which devices to prefer cannot be met; the choice is left to it",
            resource=serving.resource.name,
            reason=_shortened(chosen.reason),
        )
        return ()
    return chosen


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."


def plugin_listener(path: Path, servicer: rpc.DevicePluginServicer) -> Listener:
    """Return what serves a device plugin's calls at a path."""
    return Listener(
        path,
        lambda server: rpc.add_DevicePluginServicer_to_server(servicer, server),
        workers=MOST + _CALLS,
        answers=answer_as_plugin,
    )


def answer_as_plugin(channel: grpc.Channel, timeout: float) -> None:
    """Make a call that every device plugin answers, within `timeout` seconds. Raises grpc.RpcError."""
    rpc.DevicePluginStub(channel).GetDevicePluginOptions(pb.Empty(), timeout=timeout, wait_for_ready=True)
