"""The kinds of objects that the programs use, and where the API serves them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of object: its API group (empty for the core group), version and plural as the URL has them."""

    group: str
    version: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the URL path of the collection, of one object, or of a part of one object.

        Without a namespace the collection of a namespaced kind spans all namespaces. Raises ValueError for a
        namespace on a kind without namespaces, and for one object of a namespaced kind without its namespace.
        """
        if namespace is not None and not self.namespaced:
            raise ValueError(f"{self.plural} have no namespace")
        if name is not None and namespace is None and self.namespaced:
            raise ValueError(f"one object of {self.plural} needs its namespace")
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        if subresource is not None:
            parts.append(subresource)
        return "/" + "/".join(quote(part, safe="") for part in parts)


NODES = Kind(group="", version="v1", plural="nodes", namespaced=False)
PODS = Kind(group="", version="v1", plural="pods", namespaced=True)
EVENTS = Kind(group="", version="v1", plural="events", namespaced=True)
DAEMON_SETS = Kind(group="apps", version="v1", plural="daemonsets", namespaced=True)
NODE_FEATURES = Kind(group="nfd.k8s-sigs.io", version="v1alpha1", plural="nodefeatures", namespaced=True)
