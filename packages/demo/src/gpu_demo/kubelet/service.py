"""The kubelet itself: starts and stops, keeps one endpoint per resource, gives devices to containers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from gpu_demo.kubelet.containers import Containers
from gpu_demo.kubelet.endpoint import DialError, Endpoint
from gpu_demo.kubelet.log import EventLog, Started, Stopped
from gpu_demo.kubelet.model import Behaviour, Grant, ListedDevice, Options
from gpu_demo.kubelet.registration import Registration
from gpu_demo.kubelet.socket import RegistrationSocket
from gpu_kubelet._pb import deviceplugin_pb2 as pb

SOCKET_NAME = "kubelet.sock"


class Kubelet:
    """A kubelet whose device plugin directory is `directory`; it may start, stop and start again in any order.

    `behaviour` may be set at any time and counts from the next registration on. One thread starts and stops it;
    everything else may be called from any thread.
    """

    def __init__(self, directory: Path, *, behaviour: Behaviour | None = None) -> None:
        self.directory = directory
        self.socket = directory / SOCKET_NAME
        self.behaviour = behaviour or Behaviour()
        self.log = EventLog()
        self._containers = Containers()
        self._server: RegistrationSocket | None = None
        self._starts = 0
        self._lock = threading.Lock()
        self._dialling: set[Endpoint] = set()
        self._endpoints: dict[str, Endpoint] = {}

    def start(self) -> None:
        """Clear the directory and accept registrations; without effect while running.

        Devices that were given stay given, as they do with a kubelet.
        """
        if self._server is not None:
            return
        self._starts += 1
        life = self._starts

        def connect(request: pb.RegisterRequest, behaviour: Behaviour, *, accepted: Callable[[], None]) -> None:
            self._connect(life, request, behaviour, accepted=accepted)

        servicer = Registration(behaviour=lambda: self.behaviour, connect=connect, log=self.log)
        self._server = RegistrationSocket(self.socket, servicer, number=life)
        # Logged first: a plugin that watches may register before `open` has returned.
        self.log.append(Started())
        self._server.open()

    def stop(self, *, leave_socket: bool = False) -> None:
        """Close every connection; with `leave_socket` the socket file stays, as when the kubelet was killed."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close(leave_file=leave_socket)
        with self._lock:
            endpoints = [*self._endpoints.values(), *self._dialling]
            self._endpoints = {}
            self._dialling = set()
        for endpoint in endpoints:
            endpoint.close("the kubelet stopped")
        server.join()
        self.log.append(Stopped(socket_left=leave_socket))

    def restart(self) -> None:
        """Stop and start without a pause."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def resources(self) -> tuple[str, ...]:
        """Return the names of the resources whose plugins are connected, sorted."""
        with self._lock:
            return tuple(sorted(self._endpoints))

    def devices(self, resource: str) -> tuple[ListedDevice, ...]:
        """Return the latest list of a connected plugin; LookupError when there is none."""
        return self._endpoint(resource).devices

    def options(self, resource: str) -> Options:
        """Return what a connected plugin asks to be asked; LookupError when there is none."""
        return self._endpoint(resource).options

    def preferred(
        self, resource: str, *, available: Sequence[str], size: int, must_include: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Ask for a preferred allocation; raises grpc.RpcError as the plugin answers."""
        return self._endpoint(resource).preferred(available=available, must_include=must_include, size=size)

    def allocate(self, resource: str, *containers: Sequence[str]) -> pb.AllocateResponse:
        """Ask what containers with these devices need, whether or not they are free; raises grpc.RpcError."""
        return self._endpoint(resource).allocate(*containers)

    def pre_start(self, resource: str, ids: Sequence[str]) -> None:
        """Announce the start of a container with these devices; raises grpc.RpcError."""
        self._endpoint(resource).pre_start(ids)

    def admit(self, resource: str, count: int) -> Grant:
        """Give a container `count` devices the way a kubelet does.

        Of the healthy free devices the preferred ones go first, where the plugin offers to be asked, and others
        fill up. Raises NotEnoughDevicesError, or grpc.RpcError as the plugin answers.
        """
        return self._containers.admit(self._endpoint(resource), count)

    def release(self, grant: Grant) -> None:
        """Take a container's devices back; plugins are never told."""
        self._containers.release(grant)

    def _connect(
        self, life: int, request: pb.RegisterRequest, behaviour: Behaviour, *, accepted: Callable[[], None]
    ) -> None:
        resource = request.resource_name
        socket = self.directory / request.endpoint
        endpoint = Endpoint(resource=resource, socket=socket, log=self.log, takes_lists=behaviour.takes_lists)
        try:
            with self._lock:
                self._check(life)
                self._dialling.add(endpoint)
            endpoint.connect()
            with self._lock:
                self._check(life)
                replaced, self._endpoints[resource] = self._endpoints.get(resource), endpoint
                if replaced is not None:
                    replaced.close("a new registration took its place")
                accepted()
                if behaviour.opens_stream:
                    endpoint.open_stream()
        except DialError:
            endpoint.close("it could not be dialled")
            raise
        finally:
            with self._lock:
                self._dialling.discard(endpoint)

    def _check(self, life: int) -> None:
        """Raise DialError when the kubelet has stopped since the start that took the registration."""
        if self._server is None or self._starts != life:
            raise DialError("the kubelet stopped")

    def _endpoint(self, resource: str) -> Endpoint:
        with self._lock:
            endpoint = self._endpoints.get(resource)
        if endpoint is None:
            connected = ", ".join(self.resources()) or "none"
            raise LookupError(f"No plugin is connected for {resource}. Connected: {connected}.")
        return endpoint
