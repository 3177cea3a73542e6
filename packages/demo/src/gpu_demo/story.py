"""The demo, step by step: a node's labels, its plugin and a kubelet, a container, a fault and the way back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gpu_demo.kubelet import Event, Kubelet, Listed, ListedDevice, Registered, StreamEnded
from gpu_demo.programs import Command, DemoError, Programs, Service
from gpu_demo.screen import Screen

STEPS = 7
RESOURCE = "nvidia.com/gpu"
# "GPU has fallen off the bus", which no container survives.
XID = 79
PATIENCE = 15.0

# A GPU that was reset is trusted again after a second here, so that nobody has to wait for a minute.
CONFIG = """\
version: v1
health:
  probeInterval: 250ms
  recoveryQuietTime: 1s
"""

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What every step works with. `directory` is empty and goes away with everything in it afterwards."""

    screen: Screen
    programs: Programs
    directory: Path
    node: str
    gpus: int


def tell(demo: Demo) -> None:
    """Show everything; raises DemoError at the first step that does not come out as it should."""
    show_labels(demo)
    show_topology(demo)
    events = demo.directory / "events"
    events.touch()
    with Kubelet(demo.directory / "kubelet") as kubelet, start_plugin(demo, kubelet, events) as plugin:
        show_registration(demo, kubelet, plugin)
        spare = show_container(demo, kubelet)
        show_fault(demo, kubelet, plugin, events, spare)
        show_recovery(demo, kubelet, plugin, events, spare)
        show_end(demo, kubelet, plugin)


def show_labels(demo: Demo) -> None:
    """Print what gpu-feature-discovery says of the node."""
    demo.screen.step("What the node is", "GPU Feature Discovery describes the GPUs as node labels, for the scheduler.")
    command = Command(program="gfd", arguments=("--oneshot", f"--simulated-node={demo.node}"))
    demo.screen.command(str(command))
    with demo.screen.waiting("reading the node"):
        printed = demo.programs.run(command)
    labels = [line.partition("=") for line in printed.splitlines() if "=" in line]
    if not labels:
        raise DemoError(f"`{command}` printed no labels:\n{printed}")
    demo.screen.table(("label", "value"), [(name, value) for name, _, value in labels])


def show_topology(demo: Demo) -> None:
    """Print how the GPUs are connected."""
    demo.screen.step("How its GPUs are connected", "GPUs that are close to each other are given out together.")
    command = Command(program="gfd", arguments=("topology", f"--simulated-node={demo.node}"))
    demo.screen.command(str(command))
    with demo.screen.waiting("reading the links"):
        printed = demo.programs.run(command)
    demo.screen.block(printed)


def start_plugin(demo: Demo, kubelet: Kubelet, events: Path) -> Service:
    """Start the device plugin, with its socket beside the kubelet's."""
    demo.screen.step("The device plugin meets the kubelet", "A stand-in kubelet speaks the real API on a Unix socket.")
    config = demo.directory / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    command = Command(
        program="nvidia-device-plugin",
        arguments=(
            f"--simulated-node={demo.node}",
            f"--simulated-events={events}",
            f"--config-file={config}",
            f"--kubelet-socket={kubelet.socket}",
            f"--device-plugin-dir={kubelet.directory}",
        ),
    )
    demo.screen.command(str(command))
    return Service(demo.programs, command, log=demo.directory / "plugin.log")


def show_registration(demo: Demo, kubelet: Kubelet, plugin: Service) -> None:
    """Wait for the registration and the first list of devices."""
    with demo.screen.waiting("waiting for the registration"):
        registered = expect(plugin, lambda wait: kubelet.log.wait_for(Registered, resource=RESOURCE, timeout=wait))
        listed = expect(plugin, lambda wait: kubelet.log.wait_for(Listed, resource=RESOURCE, timeout=wait))
    demo.screen.done(f"registered {registered.resource} on {registered.endpoint}, API {registered.version}")
    if not listed.devices or not all(device.healthy for device in listed.devices):
        raise DemoError(f"The first list should hold healthy devices only, and holds {listed.health}.")
    demo.screen.done(f"the kubelet sees {len(listed.devices)} devices")
    demo.screen.table(("device", "health", "NUMA node"), [device_row(device) for device in listed.devices])


def show_container(demo: Demo, kubelet: Kubelet) -> str:
    """Give a container its GPUs, and return the id of one that stays free."""
    demo.screen.step(
        f"A container asks for {demo.gpus} GPUs",
        "The kubelet asks which ones are best (GetPreferredAllocation), then what the container needs (Allocate).",
    )
    grant = kubelet.admit(RESOURCE, demo.gpus)
    if grant.preferred is None or len(grant.devices) != demo.gpus:
        raise DemoError(f"The plugin prefers {grant.preferred}, the container gets {grant.devices}.")
    rows = [("preferred", "\n".join(grant.preferred)), ("allocated", "\n".join(grant.devices))]
    rows += [(f"env {name}", value.replace(",", ",\n")) for name, value in sorted(grant.response.envs.items())]
    rows += [(f"device {spec.container_path}", spec.permissions) for spec in grant.response.devices]
    rows += [("CDI device", device.name) for device in grant.response.cdi_devices]
    demo.screen.table(("answer", "value"), rows)
    named = grant.response.envs.get("NVIDIA_VISIBLE_DEVICES", "").split(",")
    if sorted(named) != sorted(grant.devices):
        raise DemoError(f"NVIDIA_VISIBLE_DEVICES names {named}, but {grant.devices} were allocated.")
    demo.screen.done("NVIDIA_VISIBLE_DEVICES names exactly these GPUs")
    free = [device.id for device in kubelet.devices(RESOURCE) if device.id not in grant.devices]
    if not free:
        raise DemoError(f"Every GPU is in use; the demo needs one more than the {demo.gpus} of the container.")
    return free[0]


def show_fault(demo: Demo, kubelet: Kubelet, plugin: Service, events: Path, victim: str) -> None:
    """Make one GPU fall off the bus and show what the kubelet sees."""
    demo.screen.step(
        f"A GPU falls off the bus (XID {XID})",
        "The driver reports the fault; only that GPU becomes unhealthy, and its neighbours are not touched.",
    )
    happen(demo, events, f"recovery {victim} reset", f"event {victim} xid={XID}")
    before = time.monotonic()
    listed = wait_for_list(demo, kubelet, plugin, "waiting for the fault to be seen", sick={victim})
    demo.screen.done(f"the kubelet was told after {(time.monotonic() - before) * 1000:.0f} ms")
    show_health(demo, listed)


def show_recovery(demo: Demo, kubelet: Kubelet, plugin: Service, events: Path, victim: str) -> None:
    """Let the driver say that the GPU is well again, and show that the kubelet gets it back."""
    demo.screen.step(
        "The GPU is reset",
        "It comes back once the driver wants no recovery action and the GPU has answered for a while; no restart.",
    )
    happen(demo, events, f"recovery {victim} none")
    listed = wait_for_list(demo, kubelet, plugin, "waiting for the GPU to come back", sick=set())
    show_health(demo, listed)


def show_end(demo: Demo, kubelet: Kubelet, plugin: Service) -> None:
    """Stop the plugin and check that it leaves nothing behind."""
    demo.screen.step("The plugin is stopped", "SIGTERM, as when its pod is deleted.")
    with demo.screen.waiting("waiting for the plugin to end"):
        code = plugin.stop()
        if code:
            raise DemoError(f"`{plugin.command}` ended with {code} after SIGTERM:\n{plugin.log_tail()}")
        kubelet.log.wait_for(StreamEnded, resource=RESOURCE, timeout=PATIENCE)
    left = sorted(path.name for path in kubelet.directory.glob("*.sock") if path != kubelet.socket)
    if left:
        raise DemoError(f"The plugin left its sockets behind: {', '.join(left)}.")
    demo.screen.done("exit code 0, and its socket is gone")


def happen(demo: Demo, events: Path, *lines: str) -> None:
    """Make something happen to the simulated node."""
    with events.open("a", encoding="utf-8") as file:
        for line in lines:
            demo.screen.command(f"echo '{line}' >> {events.name}")
            file.write(f"{line}\n")


def wait_for_list(demo: Demo, kubelet: Kubelet, plugin: Service, what: str, *, sick: set[str]) -> Listed:
    """Wait until the kubelet's latest list has exactly these devices as unhealthy ones."""

    def latest(events: tuple[Event, ...]) -> Listed | None:
        listed = next((event for event in reversed(events) if isinstance(event, Listed)), None)
        found = {device.id for device in listed.devices if not device.healthy} if listed else None
        return listed if found == sick else None

    with demo.screen.waiting(what):
        return expect(plugin, lambda wait: kubelet.log.wait_until(latest, f"{sick or 'nothing'} sick", timeout=wait))


def show_health(demo: Demo, listed: Listed) -> None:
    """Show a list and how many of its devices can be given out."""
    demo.screen.table(("device", "health", "NUMA node"), [device_row(device) for device in listed.devices])
    healthy = sum(device.healthy for device in listed.devices)
    demo.screen.say(f"{RESOURCE}: {healthy} of {len(listed.devices)} can be given to containers")


def expect(plugin: Service, wait: Callable[[float], E]) -> E:
    """Wait for an event, but no longer than the plugin lives; raises DemoError with the plugin's last words."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return wait(0.25)
        except TimeoutError as error:
            plugin.check()
            if time.monotonic() > deadline:
                raise DemoError(f"{error}\nThe plugin said last:\n{plugin.log_tail()}") from error


def device_row(device: ListedDevice) -> tuple[str, str, str]:
    """Return a device as a row of a table."""
    return device.id, device.health, ", ".join(str(node) for node in device.numa_nodes) or "-"
