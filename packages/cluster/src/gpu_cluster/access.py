"""Where the API server is and what proves who we are: the pod's service account, or a kubeconfig file.

Tokens and certificates rotate while a program runs. Both kinds of access therefore name the files they were
read from; `Cluster` reads everything again when any of those has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gpu_core.errors import ClusterError
from gpu_core.files import read_regular

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_LARGEST = 4 * 1024 * 1024
"""Bytes of a credential or a kubeconfig at the most."""


class Access(Protocol):
    """A source of credentials."""

    def files(self) -> tuple[Path, ...]:
        """Return the files whose change means that the configuration has to be read again."""

    def configuration(self) -> Any:
        """Read everything now and return a `kubernetes.client.Configuration`. Raises ClusterError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccount:
    """What Kubernetes gives every pod: an address in the environment, a token and a CA in `directory`."""

    host: str
    port: str
    directory: Path = SERVICE_ACCOUNT

    def files(self) -> tuple[Path, ...]:
        """Return the token and the CA."""
        return (self.directory / "token", self.directory / "ca.crt")

    def configuration(self) -> Any:
        """Read the token and point at the CA."""
        from kubernetes.client import Configuration  # noqa: PLC0415  costs 35 MiB, so only where it is used

        token_file, ca_file = self.files()
        # The file may end with a newline, which an HTTP header must not contain.
        token = _read(token_file).strip()
        if not token:
            raise ClusterError(f"The service account token {token_file} is empty. Check the pod's projected volume.")
        _read(ca_file)
        host = f"[{self.host}]" if ":" in self.host else self.host
        configuration = Configuration(host=f"https://{host}:{self.port}", ssl_ca_cert=str(ca_file))
        configuration.api_key["BearerToken"] = f"Bearer {token}"
        return configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """A kubeconfig file, used with its current context."""

    path: Path

    def files(self) -> tuple[Path, ...]:
        """Return the kubeconfig and every file that it names."""
        try:
            document = self._document()
        except ClusterError:
            return (self.path,)
        parts = (*_parts(document, "users", "user"), *_parts(document, "clusters", "cluster"))
        keys = ("tokenFile", "client-certificate", "client-key", "certificate-authority")
        named = {self.path.parent / str(part[key]) for part in parts for key in keys if part.get(key)}
        return (self.path, *sorted(named))

    def configuration(self) -> Any:
        """Read the kubeconfig. Raises ClusterError when it cannot be used."""
        from kubernetes.client import Configuration  # noqa: PLC0415
        from kubernetes.config import ConfigException  # noqa: PLC0415
        from kubernetes.config.kube_config import KubeConfigLoader  # noqa: PLC0415

        document = self._document()
        configuration = Configuration()
        for file in self.files()[1:]:
            # The loader reads whatever is there, and waits for it.
            if file.exists():
                _read(file)
        try:
            loader = KubeConfigLoader(config_dict=document, config_base_path=str(self.path.parent))
            loader.load_and_set(configuration)
        except (ConfigException, KeyError, TypeError, ValueError, AttributeError, OSError) as error:
            # The loader trusts the file's shape, and fails in as many ways as a file can have another.
            raise ClusterError(f"The kubeconfig {self.path} cannot be used: {error}.") from error
        refresh = configuration.refresh_api_key_hook

        def refresh_and_strip(configuration: Any) -> None:
            """Renew an expired token as the loader does; a token file's newline must not reach the header."""
            if refresh is not None:
                refresh(configuration)
                # The loader's hook puts itself in our place.
                configuration.refresh_api_key_hook = refresh_and_strip
            for name, value in configuration.api_key.items():
                configuration.api_key[name] = value.strip()

        configuration.refresh_api_key_hook = refresh_and_strip
        return configuration

    def _document(self) -> dict[str, Any]:
        import yaml  # noqa: PLC0415

        text = _read(self.path)
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ClusterError(f"The kubeconfig {self.path} is not YAML: {' '.join(str(error).split())}.") from error
        if not isinstance(document, dict):
            raise ClusterError(f"The kubeconfig {self.path} holds no mapping. Give a file that kubectl accepts.")
        return document


def _parts(document: Mapping[str, Any], entries: str, part: str) -> Iterator[Mapping[str, Any]]:
    """Yield the users or the clusters of a kubeconfig; what has another shape is left for the loader to refuse."""
    listed = document.get(entries)
    for entry in listed if isinstance(listed, list) else ():
        inner = entry.get(part) if isinstance(entry, Mapping) else None
        if isinstance(inner, Mapping):
            yield inner


def find_access(
    kubeconfig: str | None, environ: Mapping[str, str], *, service_account: Path = SERVICE_ACCOUNT
) -> Access:
    """Return how to reach the API server: the kubeconfig where one is given, else the pod's service account.

    Raises ClusterError where neither is there, or the kubeconfig cannot be read.
    """
    if kubeconfig:
        # A mistyped name is an error of the start, which waiting does not repair.
        _read(Path(kubeconfig))
        return Kubeconfig(path=Path(kubeconfig))
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ClusterError(
            "There is no way to the API server: this is no pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT "
            "are not set) and no kubeconfig was given. Run inside a cluster or give --kubeconfig."
        )
    return ServiceAccount(host=host, port=port, directory=service_account)


def is_at_hand(kubeconfig: str | None, environ: Mapping[str, str], *, service_account: Path = SERVICE_ACCOUNT) -> bool:
    """Whether `find_access` would find a way that has something to prove who we are; nothing is read for that.

    A pod without a token has none, though its environment names the API server.
    """
    if kubeconfig:
        return Path(kubeconfig).exists()
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (service_account / "token").exists()


def fingerprint(files: tuple[Path, ...]) -> tuple[tuple[int, int, int] | None, ...]:
    """Return what tells whether any of `files` has changed: inode, time and size; None where a file is missing."""
    return tuple(_identity(path) for path in files)


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  through the links of a projected volume
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def _read(path: Path) -> str:
    try:
        return read_regular(path, most=_LARGEST).decode()
    except OSError as error:
        raise ClusterError(f"The file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ClusterError(f"The file {path} is no text.") from error
