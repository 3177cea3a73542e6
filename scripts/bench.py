"""Measure the programs on simulated nodes: start, end, memory, answers to the kubelet, a fault's way, labels.

Compare numbers only with numbers from the same machine in the same hour: the ratios are what tells.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from gpu_demo.kubelet import Kubelet, Listed, Registered
from gpu_demo.programs import Command, Programs, Service

RESOURCE = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One line of the result. `p50` and `p99` are in `unit`, of `count` samples."""

    node: str
    what: str
    unit: str
    p50: float
    p99: float
    count: int


def main() -> int:
    """Measure and print a table; with --json write the numbers too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="t4,h100x8,v100x16-dgx2", help="simulated nodes, by commas (%(default)s)")
    parser.add_argument("--starts", type=int, default=5, help="starts of each program (%(default)s)")
    parser.add_argument("--calls", type=int, default=500, help="calls of each kind (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    options = parser.parse_args()

    programs = Programs.beside(sys.executable, os.environ)
    measures: list[Measure] = []
    for node in options.nodes.split(","):
        for measure in measure_node(programs, node, starts=options.starts, calls=options.calls):
            values = f"{measure.p50:9.2f}  {measure.p99:9.2f}  {measure.unit:3}  {measure.count:4}"
            print(f"{measure.node:16}  {measure.what:34}  {values}", flush=True)
            measures.append(measure)
    if options.json:
        options.json.write_text(json.dumps([asdict(measure) for measure in measures], indent=1), encoding="utf-8")
    return 0


def measure_node(programs: Programs, node: str, *, starts: int, calls: int) -> Iterator[Measure]:
    """Measure everything on one node."""

    def result(what: str, unit: str, samples: list[float]) -> Measure:
        ordered = sorted(samples)
        p99 = ordered[min(len(ordered) - 1, round(len(ordered) * 0.99))]
        return Measure(node=node, what=what, unit=unit, p50=statistics.median(ordered), p99=p99, count=len(ordered))

    gfd = Command(program="gfd", arguments=("--oneshot", f"--simulated-node={node}"))
    walls, cpus = zip(*(timed(lambda: programs.run(gfd)) for _ in range(starts)), strict=True)
    yield result("gfd --oneshot", "ms", list(walls))
    yield result("gfd --oneshot, CPU", "ms", list(cpus))

    registered, memory, ended = [], [], []
    for _ in range(starts):
        begun = time.monotonic()
        with plugin_on(programs, node) as (kubelet, service, _):
            kubelet.log.wait_for(Registered, resource=RESOURCE)
            registered.append((time.monotonic() - begun) * 1000)
            kubelet.log.wait_for(Listed, resource=RESOURCE)
            memory.append(resident_mib(service.pid))
            ended.append(once(partial(end, service.pid)))
    yield result("plugin: start to registration", "ms", registered)
    yield result("plugin: resident memory", "MiB", memory)
    yield result("plugin: SIGTERM to exit", "ms", ended)

    with plugin_on(programs, node) as (kubelet, _, events):
        ids = [device.id for device in kubelet.log.wait_for(Listed, resource=RESOURCE).devices]
        some = ids[: max(1, len(ids) // 2)]
        for what, asked in (("one device", ids[:1]), ("all devices", ids)):
            allocate = partial(kubelet.allocate, RESOURCE, asked)
            yield result(f"plugin: Allocate, {what}", "ms", [once(allocate) for _ in range(calls)])
        prefer = [once(lambda: kubelet.preferred(RESOURCE, available=ids, size=len(some))) for _ in range(calls)]
        yield result("plugin: preferred, half of them", "ms", prefer)
        yield result("plugin: XID to kubelet", "ms", [fault(kubelet, events, id_) for id_ in ids])


@contextmanager
def plugin_on(programs: Programs, node: str) -> Iterator[tuple[Kubelet, Service, Path]]:
    """Run the plugin on a node against a kubelet; gives also the file of the node's events."""
    with tempfile.TemporaryDirectory(prefix="gpu-") as name:
        directory = Path(name)
        events = directory / "events"
        events.touch()
        kubelet = Kubelet(directory / "kubelet")
        arguments = (
            f"--simulated-node={node}",
            f"--simulated-events={events}",
            f"--kubelet-socket={kubelet.socket}",
            f"--device-plugin-dir={kubelet.directory}",
        )
        command = Command(program="nvidia-device-plugin", arguments=arguments)
        with kubelet, Service(programs, command, log=directory / "log") as service:
            yield kubelet, service, events


def fault(kubelet: Kubelet, events: Path, device: str) -> float:
    """Make a device unhealthy and return the milliseconds until the kubelet knows."""
    position = kubelet.log.position

    def seen() -> Listed:
        return kubelet.log.wait_for(
            Listed, resource=RESOURCE, after=position, matching=lambda listed: listed.health[device] == "Unhealthy"
        )

    with events.open("a", encoding="utf-8") as file:
        file.write(f"event {device} xid=79\n")
    return once(seen)


def end(pid: int) -> None:
    """Send SIGTERM to a process and wait until it has ended."""
    descriptor = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    select.select([descriptor], [], [])
    os.close(descriptor)


def once(call: Callable[[], object]) -> float:
    """Return the milliseconds that a call takes."""
    begun = time.monotonic()
    call()
    return (time.monotonic() - begun) * 1000


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds that a call takes, on the clock and of its child processes' CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = once(call)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kib) / 1024


if __name__ == "__main__":
    sys.exit(main())
