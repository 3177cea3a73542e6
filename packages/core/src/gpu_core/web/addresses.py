"""The address of a server as people write it: `:9400`, `127.0.0.1:9400`, `[::1]:9400`, `localhost:9400`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_core.errors import UsageError

# Brackets may hold IPv4 as well: manifests put them around an address that only the node knows.
_FORM = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[^:\[\]/\s]*)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A host, empty for every address of the machine, and a TCP port, 0 for any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Return the address that a text names. Raises UsageError."""
    match = _FORM.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise UsageError(f"{text!r} is no address to listen on. Write host:port, or :port for every address.")
    return Address(host=match["six"] or match["host"] or "", port=int(match["port"]))
