"""The Registration service: judges a plugin's names and call, and treats it as the kubelet's behaviour says."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import NoReturn, Protocol, assert_never

import grpc

from gpu_demo.kubelet.endpoint import DialError
from gpu_demo.kubelet.log import DialFailed, EventLog, Refused, Registered
from gpu_demo.kubelet.model import Behaviour, Options, Registers
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc

VERSION = "v1beta1"

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

# Quotas name an extended resource with this in front, and that name has to fit too.
_QUOTA_PREFIX = "requests."


def complaint(*, version: str, resource: str) -> str | None:
    """Say what a kubelet has against a registration; None when nothing."""
    if version != VERSION:
        return f"API version {version!r} is not supported by this kubelet, which speaks {VERSION}"
    if not is_extended_resource(resource):
        return f"{resource!r} is no name of an extended resource: it needs a domain, as in example.com/gpu"
    return None


def is_extended_resource(name: str) -> bool:
    """Tell whether a name is `domain/name`, outside kubernetes.io, and legal also as a quota's name."""
    domain, slash, local = name.partition("/")
    if not slash or "kubernetes.io/" in name or name.startswith(_QUOTA_PREFIX):
        return False
    domain = _QUOTA_PREFIX + domain
    return (
        len(domain) <= 253
        and _SUBDOMAIN.fullmatch(domain) is not None
        and len(local) <= 63
        and _NAME.fullmatch(local) is not None
    )


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
