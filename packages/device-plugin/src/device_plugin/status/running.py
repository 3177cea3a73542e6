"""Asks a plugin that runs on this node what it serves: over HTTP, else through its sockets."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

import grpc

from device_plugin.plugin_api.messages import ONLOOKER
from gpu_core.errors import KubeletError
from gpu_core.web.addresses import Address
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc
from gpu_kubelet.channel import dial
from gpu_kubelet.sockets import accepts

_TIMEOUT = 5.0
_CONNECT = 1.0
_HEALTHY = "Healthy"


def over_http(address: Address) -> dict[str, Any]:
    """Return the document of a plugin's page. Raises KubeletError."""
    connection = http.client.HTTPConnection(address.host or "127.0.0.1", address.port, timeout=_TIMEOUT)
    try:
        connection.request("GET", "/status.json")
        document = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise KubeletError(f"Nothing that we understand answers on {address}: {error}.") from error
    finally:
        connection.close()
    if not isinstance(document, dict) or not {"resources", "checks"} <= document.keys():
        raise KubeletError(f"What answers on {address} is no device plugin, or one that is still starting.")
    return document


def over_sockets(directory: Path) -> dict[str, Any]:
    """Return what the sockets in a directory serve, as far as the kubelet's API tells. Raises KubeletError."""
    served = [path for path in sorted(directory.glob("nvidia-*.sock")) if accepts(path, _CONNECT)]
    if not served:
        raise KubeletError(
            f"No plugin serves in {directory}. Run this on the node as root, or in the plugin's pod: "
            "kubectl exec POD -- nvidia-device-plugin status."
        )
    return {"resources": [_listed(path) for path in served], "checks": []}


def _listed(socket: Path) -> dict[str, Any]:
    with dial(socket) as channel:
        stream = rpc.DevicePluginStub(channel).ListAndWatch(pb.Empty(), timeout=_TIMEOUT, metadata=(ONLOOKER,))
        try:
            devices = list(next(iter(stream)).devices)
        except (grpc.RpcError, StopIteration) as error:
            raise KubeletError(f"The plugin on {socket} does not list its devices: {error}.") from error
        finally:
            stream.cancel()
    # The API does not say the resource's name; the socket's is made from it.
    name = f"nvidia.com/{socket.stem.removeprefix('nvidia-')}"
    groups: dict[str, list[pb.Device]] = {}
    for device in devices:
        groups.setdefault(device.ID.partition("::")[0], []).append(device)
    return {
        "name": name,
        "listed": len(devices),
        "healthy": sum(device.health == _HEALTHY for device in devices),
        "devices": [
            {
                "uuid": uuid,
                "ids": [device.ID for device in shares],
                "healthy": all(device.health == _HEALTHY for device in shares),
            }
            for uuid, shares in groups.items()
        ],
    }
