"""What a container runtime does with CDI: checks a specification, and applies devices to an OCI runtime spec."""

from typing import Any

import jsonschema

_TEXT = {"type": "string", "minLength": 1}
_PATH = {"type": "string", "pattern": "^/"}
_ENV = {"type": "string", "pattern": "^[^=]+="}

_EDITS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        "env": {"type": "array", "items": _ENV},
        "deviceNodes": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path"],
                "properties": {
                    "path": _PATH,
                    "hostPath": _PATH,
                    "type": {"enum": ["b", "c", "u", "p"]},
                    "major": {"type": "integer"},
                    "minor": {"type": "integer"},
                    "fileMode": {"type": "integer", "minimum": 0, "maximum": 0o7777},
                    "permissions": {"type": "string", "pattern": "^[rwm]{1,3}$"},
                    "uid": {"type": "integer"},
                    "gid": {"type": "integer", "minimum": 0},
                },
            },
        },
        "hooks": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["hookName", "path"],
                "properties": {
                    "hookName": {
                        "enum": [
                            "prestart",
                            "createRuntime",
                            "createContainer",
                            "startContainer",
                            "poststart",
                            "poststop",
                        ]
                    },
                    "path": _PATH,
                    "args": {"type": "array", "items": _TEXT},
                    "env": {"type": "array", "items": _ENV},
                    "timeout": {"type": "integer", "minimum": 1},
                },
            },
        },
        "mounts": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["hostPath", "containerPath"],
                "properties": {
                    "hostPath": _PATH,
                    "containerPath": _PATH,
                    "options": {"type": "array", "items": _TEXT},
                    "type": _TEXT,
                },
            },
        },
        "additionalGids": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    },
}

_ANNOTATIONS = {"type": "object", "additionalProperties": {"type": "string"}}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["cdiVersion", "kind", "devices"],
    "properties": {
        "cdiVersion": {"enum": ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"]},
        "kind": {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]/[A-Za-z0-9][A-Za-z0-9_.-]*$"},
        "annotations": _ANNOTATIONS,
        "devices": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "containerEdits"],
                "properties": {
                    "name": {"type": "string", "pattern": r"^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$"},
                    "annotations": _ANNOTATIONS,
                    "containerEdits": _EDITS,
                },
            },
        },
        # What is done for every device may be nothing.
        "containerEdits": {**_EDITS, "minProperties": 0},
    },
}
"""The rules of the CDI specification, written down for these tests."""


def check(spec: dict[str, Any]) -> None:
    """Refuse what no runtime would load."""
    jsonschema.validate(spec, SCHEMA)
    names = [device["name"] for device in spec["devices"]]
    assert len(names) == len(set(names)), "a device is named twice"


def inject(spec: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Apply devices to a minimal OCI runtime spec, the common edits first, and return it."""
    oci: dict[str, Any] = {
        "ociVersion": "1.1.0",
        "process": {"env": ["PATH=/usr/bin"], "user": {"additionalGids": []}},
        "mounts": [],
        "hooks": {},
        "linux": {"devices": [], "resources": {"devices": [{"allow": False, "access": "rwm"}]}},
    }
    devices = {device["name"]: device for device in spec["devices"]}
    for edits in [spec.get("containerEdits", {}), *(devices[name]["containerEdits"] for name in names)]:
        _apply(oci, edits)
    return oci


def _apply(oci: dict[str, Any], edits: dict[str, Any]) -> None:
    for variable in edits.get("env", []):
        name = variable.split("=", 1)[0]
        oci["process"]["env"] = [old for old in oci["process"]["env"] if not old.startswith(f"{name}=")] + [variable]
    for node in edits.get("deviceNodes", []):
        numbers = {"type": "c", "major": node.get("major", 0), "minor": node.get("minor", 0)}
        oci["linux"]["devices"].append({"path": node["path"], **numbers, "fileMode": node.get("fileMode")})
        oci["linux"]["resources"]["devices"].append(
            {"allow": True, "access": node.get("permissions", "rwm"), **numbers}
        )
    for mount in edits.get("mounts", []):
        oci["mounts"].append(
            {"source": mount["hostPath"], "destination": mount["containerPath"], "options": mount.get("options", [])}
        )
    for hook in edits.get("hooks", []):
        entry = {key: hook[key] for key in ("path", "args", "env") if key in hook}
        oci["hooks"].setdefault(hook["hookName"], []).append(entry)
    for group in edits.get("additionalGids", []):
        if group not in oci["process"]["user"]["additionalGids"]:
            oci["process"]["user"]["additionalGids"].append(group)
