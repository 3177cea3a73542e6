"""The kubelet's registration service, called through its socket."""

from __future__ import annotations

import threading
from pathlib import Path

import grpc

from device_plugin._pb import deviceplugin_pb2 as pb
from device_plugin._pb import deviceplugin_pb2_grpc as rpc
from device_plugin.listener import CHANNEL_OPTIONS
from device_plugin.messages import registration_message

TIMEOUT = 5.0
"""Seconds that the kubelet has to answer."""


class KubeletClient:
    """Makes one call at a time; another thread may end it."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._lock = threading.Lock()
        self._call: grpc.Future[pb.Empty] | None = None
        self._closed = False

    def register(self, *, endpoint: str, resource: str) -> str | None:
        """Register a resource; return why it failed, None when the kubelet accepted."""
        with grpc.insecure_channel(f"unix:{self.socket}", options=CHANNEL_OPTIONS) as channel:
            request = registration_message(endpoint=endpoint, resource=resource)
            with self._lock:
                if self._closed:
                    return "we are stopping"
                call = rpc.RegistrationStub(channel).Register.future(request, timeout=TIMEOUT)
                self._call = call
            try:
                call.result()
            except grpc.FutureCancelledError:
                return "we are stopping"
            except grpc.RpcError as error:
                return _said(error)
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


def _said(error: grpc.RpcError) -> str:
    if isinstance(error, grpc.Call):
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            return f"no answer within {TIMEOUT:g} s"
        return f"{error.code().name}: {error.details()}"
    return str(error)
