"""The Registration service: judges a plugin's call, and treats it as the kubelet's behaviour says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NoReturn, Protocol, assert_never

import grpc

from gpu_demo.kubelet.behaviour import Behaviour, Registers
from gpu_demo.kubelet.endpoint import DialError
from gpu_demo.kubelet.events import DialFailed, Refused, Registered
from gpu_demo.kubelet.log import EventLog
from gpu_demo.kubelet.model import Options
from gpu_demo.kubelet.names import complaint
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc


class Connect(Protocol):
    """What dials the plugin behind a registration."""

    def __call__(self, request: pb.RegisterRequest, behaviour: Behaviour, *, accepted: Callable[[], None]) -> None:
        """Dial, call `accepted`, then open the stream; raises DialError when the plugin does not answer."""


class Registration(rpc.RegistrationServicer):
    """The servicer behind one start of the kubelet. `behaviour` is asked anew for every call."""

    def __init__(self, *, behaviour: Callable[[], Behaviour], connect: Connect, log: EventLog) -> None:
        self._behaviour = behaviour
        self._connect = connect
        self._log = log

    def Register(self, request: pb.RegisterRequest, context: grpc.ServicerContext) -> pb.Empty:
        """Take a plugin's registration."""
        behaviour = self._behaviour()
        problem = complaint(version=request.version, resource=request.resource_name)
        if problem is not None:
            self._refuse(request, context, problem)
        match behaviour.registers:
            case Registers.SERVED:
                try:
                    self._connect(request, behaviour, accepted=lambda: self._accept(request))
                except DialError as error:
                    self._refuse(request, context, f"the plugin's socket {request.endpoint} does not answer: {error}")
            case Registers.SERVED_LATER:
                self._accept(request)
                context.add_callback(lambda: self._connect_later(request, behaviour))
            case Registers.REFUSED:
                self._refuse(request, context, "this kubelet takes no registrations now")
            case Registers.FORGOTTEN:
                self._accept(request)
            case Registers.UNANSWERED:
                wait_for_end(context)
            case _:
                assert_never(behaviour.registers)
        return pb.Empty()

    def _connect_later(self, request: pb.RegisterRequest, behaviour: Behaviour) -> None:
        def dial() -> None:
            try:
                self._connect(request, behaviour, accepted=lambda: None)
            except DialError as error:
                failed = DialFailed(resource=request.resource_name, endpoint=request.endpoint, reason=str(error))
                self._log.append(failed)

        # The callback runs in a thread that gRPC needs for other calls.
        threading.Thread(target=dial, name=f"dial {request.endpoint}", daemon=True).start()

    def _accept(self, request: pb.RegisterRequest) -> None:
        self._log.append(
            Registered(
                resource=request.resource_name,
                version=request.version,
                endpoint=request.endpoint,
                options=Options.of(request.options),
            )
        )

    def _refuse(self, request: pb.RegisterRequest, context: grpc.ServicerContext, reason: str) -> NoReturn:
        self._log.append(
            Refused(
                resource=request.resource_name,
                version=request.version,
                endpoint=request.endpoint,
                reason=reason,
            )
        )
        context.abort(grpc.StatusCode[self._behaviour().refusal], reason)


def wait_for_end(context: grpc.ServicerContext) -> None:
    """Return when the call is over: at its deadline, or when either side goes away."""
    ended = threading.Event()
    if context.add_callback(ended.set):
        ended.wait()
