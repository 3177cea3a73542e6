"""The kubelet's registration service, called through its socket."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import grpc

from device_plugin.plugin_api.messages import VERSION, registration_message
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc
from gpu_kubelet.channel import dial

TIMEOUT = 5.0
"""Seconds that the kubelet has to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a registration failed; `lasting` when no waiting changes that."""

    reason: str
    lasting: bool = False


class KubeletClient:
    """Makes one call at a time; another thread may end it."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._lock = threading.Lock()
        self._call: grpc.Future[pb.Empty] | None = None
        self._closed = False

    def register(self, *, endpoint: str, resource: str) -> Refusal | None:
        """Register a resource; return why it failed, None when the kubelet accepted."""
        with dial(self.socket) as channel:
            request = registration_message(endpoint=endpoint, resource=resource)
            with self._lock:
                if self._closed:
                    return Refusal(reason="we are stopping")
                call = rpc.RegistrationStub(channel).Register.future(request, timeout=TIMEOUT)
                self._call = call
            try:
                call.result()
            except grpc.FutureCancelledError:
                return Refusal(reason="we are stopping")
            except grpc.RpcError as error:
                return _refusal(error)
            finally:
                self._call = None
        return None

    def close(self) -> None:
        """End the call in progress, and make no other."""
        with self._lock:
            self._closed = True
            call = self._call
        if call is not None:
            call.cancel()


_LASTING = {
    grpc.StatusCode.UNIMPLEMENTED: (
        f"What answers there knows no registration for version {VERSION} of the device plugin API. Name the kubelet's "
        "own device plugin socket with --kubelet-socket"
    ),
    grpc.StatusCode.INVALID_ARGUMENT: "Give the resource another name, or look into the kubelet's log",
}
"""Answers that stay the same however often we ask, and what to change."""


def _refusal(error: grpc.RpcError) -> Refusal:
    if not isinstance(error, grpc.Call):
        return Refusal(reason=str(error))
    code = error.code()
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Refusal(reason=f"no answer within {TIMEOUT:g} s")
    said = f"{code.name}: {error.details()}"
    if code in _LASTING:
        return Refusal(reason=f"{said}. {_LASTING[code]}", lasting=True)
    return Refusal(reason=said)
