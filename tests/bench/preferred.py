"""How long preferred allocation takes: nodes as they are sold, and the worst that could be thought of.

Run as `python tests/bench/preferred.py`; no test depends on it. Besides milliseconds it prints how much longer each
request takes than the plainest one of the same run, which is what can be compared between machines.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

from core.preference.listing import first_of_the_best
from core.resources.building import recorded_node, whole_gpu
from gpu_core.devices.model import LinkLevel, PairLink
from gpu_core.preference.closeness import Links, links_by_uuid, pair_scores
from gpu_core.preference.preferred import prefer_aligned
from gpu_core.resources.model import Device

Between = Callable[[int, int], PairLink]
REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node to ask, and the longest that any request may take there, in milliseconds."""

    name: str
    devices: tuple[Device, ...]
    links: Links
    limit: float


def _device(number: int, count: int) -> Device:
    uuid = f"GPU-{number}"
    return Device(id=uuid, uuid=uuid, index=str(number), numa_node=2 * number // count, gpu=whole_gpu(number))


def _made(name: str, count: int, between: Between, limit: float) -> Node:
    devices = tuple(_device(number, count) for number in range(count))
    links = {
        (one.uuid, other.uuid): between(min(a, b), max(a, b))
        for a, one in enumerate(devices)
        for b, other in enumerate(devices)
        if a != b
    }
    return Node(name=f"{count} GPUs, {name}", devices=devices, links=links, limit=limit)


def _recorded(name: str, limit: float) -> Node:
    node = recorded_node(name)
    devices = tuple(
        Device(id=gpu.uuid, uuid=gpu.uuid, index=str(gpu.index), numa_node=gpu.numa_node, gpu=gpu) for gpu in node.gpus
    )
    return Node(name=f"{len(devices)} GPUs, {name}", devices=devices, links=links_by_uuid(node), limit=limit)


def _halves(count: int) -> Between:
    return lambda a, b: PairLink(level=LinkLevel.NODE if 2 * a // count == 2 * b // count else LinkLevel.SYSTEM)


def _pairs(count: int) -> Between:
    halves = _halves(count)
    return lambda a, b: PairLink(level=halves(a, b).level, nvlinks=4 if a // 2 == b // 2 else 0)


def _switches(size: int, count: int) -> Between:
    halves = _halves(count)
    return lambda a, b: PairLink(level=LinkLevel.MULTIPLE) if a // size == b // size else halves(a, b)


def _random(words: Sequence[PairLink]) -> Between:
    dice = random.Random(16)
    drawn: dict[tuple[int, int], PairLink] = {}
    return lambda a, b: drawn.setdefault((a, b), dice.choice(words))


NODES = (
    *(_recorded(name, 2) for name in ("a100x8", "v100x8-dgx1", "a100x8-pcie-bridges", "a100x8-pcie-onesocket")),
    _made("any links", 8, _random([PairLink(level=level, nvlinks=n) for level in LinkLevel for n in (0, 1, 2)]), 2),
    _recorded("v100x16-dgx2", 20),
    _recorded("x16-farpairs", 20),
    _made("two NUMA halves", 16, _halves(16), 20),
    _made("pairs on two sockets", 16, _pairs(16), 20),
    _made("switches of four", 16, _switches(4, 16), 20),
    _made("any two levels", 16, _random([PairLink(level=LinkLevel.NODE), PairLink(level=LinkLevel.SYSTEM)]), 1000),
    _made("any links", 16, _random([PairLink(level=level, nvlinks=n) for level in LinkLevel for n in (0, 0, 1)]), 1000),
    _made("two NUMA halves", 64, _halves(64), 100),
    _made("pairs on two sockets", 64, _pairs(64), 100),
    _made("switches of eight", 64, _switches(8, 64), 100),
    _made("any links", 64, _random([PairLink(level=level, nvlinks=n) for level in LinkLevel for n in (0, 1, 2)]), 100),
)


def _milliseconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    spans = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        spans.append(1000 * (perf_counter() - start))
    return median(spans)


def _slowest(node: Node) -> tuple[float, int, int]:
    """Return milliseconds, size and number of required GPUs of the node's slowest request."""
    count = len(node.devices)
    sizes = range(1, count + 1) if count <= 16 else (1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 33, 48, 63, 64)
    requests = [
        (size, required)
        for size in sizes
        for required in ((), node.devices[-1:], (node.devices[0], node.devices[count // 2]))
        if len(required) <= size
    ]
    return max(
        (_milliseconds(partial(prefer_aligned, node.devices, required, size, node.links)), size, len(required))
        for size, required in requests
    )


def main() -> int:
    """Print a table; return 1 when a node's slowest request took longer than it may."""
    plain = NODES[0]
    unit = _milliseconds(lambda: prefer_aligned(plain.devices, (), 1, plain.links), 50)
    write = sys.stdout.write
    write(f"{'node':38} {'slowest':>9} {'limit':>8} {'ratio':>7}  request\n")
    late = 0
    for node in NODES:
        spent, size, required = _slowest(node)
        late += spent > node.limit
        request = f"{size}, {required} required" + ("  LATE" if spent > node.limit else "")
        write(f"{node.name:38} {spent:6.1f} ms {node.limit:5.0f} ms {spent / unit:7.0f}  {request}\n")
    scores = pair_scores(NODES[4].devices, NODES[4].links)
    listed = _milliseconds(lambda: first_of_the_best(scores, 3, ()), 1)
    write(f"{'listing all divisions of 8 GPUs':38} {listed:6.1f} ms {'':8} {listed / unit:7.0f}  3, 0 required\n")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
