"""The plugin's answers as plain data, in the form in which the original's are recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import grpc

from gpu_demo.kubelet import Kubelet, ListedDevice, Options, Registered
from gpu_kubelet._pb import deviceplugin_pb2 as pb

GOLDEN = Path(__file__).parents[1] / "golden" / "plugin"

_UNIQUE = re.compile(r"(nvidia-device-plugin_)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def golden(name: str) -> list[dict[str, Any]]:
    """Return the recorded cases of a file."""
    cases: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    return cases


def container(message: pb.ContainerAllocateResponse) -> dict[str, Any]:
    """Return what a container is given; what is empty is left out, except for variables."""
    answer: dict[str, Any] = {
        "envs": dict(message.envs),
        "mounts": [
            {"container_path": mount.container_path, "host_path": mount.host_path, "read_only": mount.read_only}
            for mount in message.mounts
        ],
        "devices": [
            {"container_path": node.container_path, "host_path": node.host_path, "permissions": node.permissions}
            for node in message.devices
        ],
        "annotations": {_UNIQUE.sub(r"\1<UUID>", key): value for key, value in message.annotations.items()},
        "cdi_devices": [device.name for device in message.cdi_devices],
    }
    return {key: value for key, value in answer.items() if value or key == "envs"}


def allocation(kubelet: Kubelet, resource: str, containers: list[list[str]]) -> dict[str, Any]:
    """Ask for an allocation; an error is told by its code alone."""
    try:
        answer = kubelet.allocate(resource, *containers)
    except grpc.RpcError as error:
        return {"error": status(error)}
    return {"containers": [container(message) for message in answer.container_responses]}


def status(error: grpc.RpcError) -> str:
    """Return the code of a failed call."""
    assert isinstance(error, grpc.Call)
    return error.code().name


def recorded(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded answer as ours should be: errors with a code that says whose fault it is, no node twice."""
    if "error" in answer:
        return {"error": "INVALID_ARGUMENT"}
    return {"containers": [_without_repetitions(given) for given in answer["containers"]]}


def _without_repetitions(given: dict[str, Any]) -> dict[str, Any]:
    # The original repeats device nodes that replicas, or the MIG devices of one GPU, have in common.
    if "devices" not in given:
        return given
    return {
        **given,
        "devices": [node for place, node in enumerate(given["devices"]) if node not in given["devices"][:place]],
    }


def in_any_order(answer: Any) -> Any:
    """Return an answer in which lists, and lists within texts, do not tell their order."""
    if isinstance(answer, dict):
        return {key: in_any_order(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return sorted((in_any_order(value) for value in answer), key=lambda value: json.dumps(value, sort_keys=True))
    return sorted(answer.split(",")) if isinstance(answer, str) else answer


def registrations(kubelet: Kubelet) -> list[dict[str, Any]]:
    """Return the Register calls that were accepted, by resource."""
    return [
        {
            "version": event.version,
            "endpoint": event.endpoint,
            "resource_name": event.resource,
            "options": options(event.options),
        }
        for event in sorted(kubelet.log.events(Registered), key=lambda event: str(event.resource))
    ]


def options(given: Options) -> dict[str, bool]:
    """Return a plugin's options."""
    return {
        "pre_start_required": given.pre_start_required,
        "get_preferred_allocation_available": given.preferred_allocation,
    }


def listed(devices: tuple[ListedDevice, ...]) -> list[dict[str, Any]]:
    """Return a list of devices, by id."""
    return sorted(
        ({"id": device.id, "health": device.health, "numa": list(device.numa_nodes) or None} for device in devices),
        key=lambda device: str(device["id"]),
    )
