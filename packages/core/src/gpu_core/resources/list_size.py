"""How many bytes the list of a resource takes on its way to the kubelet, and how many shares fit into one. Pure.

The kubelet takes messages of 4 MiB at most, gRPC's default, and a list is one message. This reckons with the encoding
of `ListAndWatchResponse` without making it, so that a number of shares that nobody could list is refused before there
are any. A test holds it to what protobuf writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

LARGEST_LIST = 4 << 20
"""Bytes of a message that the kubelet takes."""

UUID_BYTES = 40
"""Bytes of a GPU's UUID as its driver writes it, `GPU-` or `MIG-` and 36 more."""

_HEALTH = len("Unhealthy")
"""A list has to fit whatever happens to its devices, and this is the longer of the two words."""

_SEPARATOR = len("::")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A device as far as it counts here: the bytes of its id, its NUMA node, and in how many shares it is listed.

    `replicas` is 0 for a device that is listed whole, under its own id.
    """

    id_bytes: int
    numa_node: int | None = None
    replicas: int = 0


def list_bytes(rows: Iterable[Row]) -> int:
    """Return the size of a list in bytes when every device in it is unhealthy."""
    return sum(map(_row_bytes, rows))


def most_replicas(rows: Sequence[Row]) -> int:
    """Return the largest number of replicas with which a list fits that shares these devices; 0 when none does.

    Devices that are shared in fewer parts, or not at all, stay as they are.
    """
    fits, too_many = 0, max((row.replicas for row in rows), default=0) + 1
    while too_many - fits > 1:
        tried = (fits + too_many) // 2
        capped = (replace(row, replicas=min(row.replicas, tried)) for row in rows)
        if list_bytes(capped) <= LARGEST_LIST:
            fits = tried
        else:
            too_many = tried
    return fits


def _row_bytes(row: Row) -> int:
    if not row.replicas:
        return _device_bytes(row.id_bytes, row.numa_node)
    total, first, digits = 0, 0, 1
    while first < row.replicas:
        # The numbers of as many digits: 0 to 9, 10 to 99, and so on.
        end = min(10**digits, row.replicas)
        total += (end - first) * _device_bytes(row.id_bytes + _SEPARATOR + digits, row.numa_node)
        first, digits = end, digits + 1
    return total


def _device_bytes(id_bytes: int, numa_node: int | None) -> int:
    """Return what one `Device` adds to a list: its ID, its health and its topology, each in its frame."""
    return _framed(_framed(id_bytes) + _framed(_HEALTH) + _topology_bytes(numa_node))


def _topology_bytes(numa_node: int | None) -> int:
    if numa_node is None:
        return 0
    # A zero is not written, since it is what a number is when nothing is.
    number = 1 + _varint_bytes(numa_node) if numa_node else 0
    return _framed(_framed(number))


def _framed(length: int) -> int:
    """Return the size of a field that holds so many bytes: its tag, the length and those bytes."""
    return 1 + _varint_bytes(length) + length


def _varint_bytes(value: int) -> int:
    """Return how many bytes a number takes that is not negative, seven bits in each."""
    return max(1, -(-value.bit_length() // 7))
