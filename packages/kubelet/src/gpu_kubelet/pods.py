"""Which pod holds which device, from the kubelet's pod resources socket."""

from __future__ import annotations

from pathlib import Path

import grpc

from gpu_core.errors import KubeletError
from gpu_kubelet._pb import podresources_pb2 as pb
from gpu_kubelet._pb import podresources_pb2_grpc as rpc
from gpu_kubelet.channel import dial

POD_RESOURCES_SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"

_TIMEOUT = 10.0
_LARGEST = 16 << 20
"""Bytes of an answer that are taken; the kubelet's own limit for this service."""

Holders = dict[tuple[str, str], str]
"""By resource and device id: `<namespace>/<pod>` with the container in brackets."""


def holders(socket: Path) -> Holders:
    """Ask the kubelet. Raises KubeletError."""
    with dial(socket, largest=_LARGEST) as channel:
        try:
            answer = rpc.PodResourcesListerStub(channel).List(pb.ListPodResourcesRequest(), timeout=_TIMEOUT)
        except grpc.RpcError as error:
            said = error.details() if isinstance(error, grpc.Call) else str(error)
            raise KubeletError(
                f"The kubelet does not tell on {socket} which pod holds which device: {said}. Run as root, and check "
                "that it runs."
            ) from error
    return {
        (devices.resource_name, id_): f"{pod.namespace}/{pod.name} ({container.name})"
        for pod in answer.pod_resources
        for container in pod.containers
        for devices in container.devices
        for id_ in devices.device_ids
    }
