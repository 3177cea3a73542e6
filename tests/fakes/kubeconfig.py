"""Writes what clients of the fake API server find it by."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml


def write_kubeconfig(
    path: Path, url: str, *, token: str = "", token_file: Path | None = None, ca: bytes | None = None
) -> Path:
    """Write a kubeconfig with one cluster, one user and one context; return its path."""
    cluster: dict[str, Any] = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    user: dict[str, Any] = {}
    if token:
        user["token"] = token
    if token_file is not None:
        user["tokenFile"] = str(token_file)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fake", "cluster": cluster}],
        "users": [{"name": "node", "user": user}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "node"}}],
        "current-context": "fake",
    }
    path.write_text(yaml.safe_dump(document))
    return path


def write_service_account(directory: Path, url: str, *, token: str, ca: bytes) -> dict[str, str]:
    """Write a pod's service account into `directory` and return the variables that Kubernetes would set."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "token").write_text(token)
    (directory / "ca.crt").write_bytes(ca)
    address = urlsplit(url)
    return {"KUBERNETES_SERVICE_HOST": str(address.hostname), "KUBERNETES_SERVICE_PORT": str(address.port)}
