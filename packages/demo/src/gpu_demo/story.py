"""The demo, step by step: a node's labels, its plugin and a kubelet, a container, a fault and the way back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.simulated.files import load_node
from gpu_demo.kubelet import Event, Kubelet, Listed, ListedDevice, Registered, StreamEnded
from gpu_demo.programs import Command, DemoError, Programs, Service
from gpu_demo.screen import Screen

STEPS = 7
RESOURCE = "nvidia.com/gpu"
# "GPU has fallen off the bus", which no container survives.
XID = 79
# Of a machine that does much else.
PATIENCE = 60.0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What is there once the plugin runs: `events` holds what happens to the GPUs, `names` what they are called."""

    screen: Screen
    kubelet: Kubelet
    plugin: Service
    events: Path
    names: Mapping[str, str]


def tell(demo: Demo) -> None:
    """Show everything; raises DemoError at the first step that does not come out as it should."""
    show_labels(demo)
    show_topology(demo)
    events = demo.directory / "events"
    events.touch()
    names = gpu_names(demo.node)
    with Kubelet(demo.directory / "kubelet") as kubelet, start_plugin(demo, kubelet, events) as plugin:
        stage = Stage(screen=demo.screen, kubelet=kubelet, plugin=plugin, events=events, names=names)
        show_registration(stage)
        spare = show_container(stage, demo.gpus)
        show_fault(stage, spare)
        show_recovery(stage, spare)
        show_end(stage)


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


def gpu_names(node: str) -> Mapping[str, str]:
    """Return how people call the node's GPUs, by UUID."""
    backend = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, simulated=load_node(node))
    try:
        return {gpu.uuid: f"GPU{gpu.index}" for gpu in backend.read().gpus}
    finally:
        backend.close()


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


def show_registration(stage: Stage) -> None:
    """Wait for the registration and the first list of devices."""
    log = stage.kubelet.log
    with stage.screen.waiting("waiting for the registration"):
        registered = expect(stage.plugin, lambda wait: log.wait_for(Registered, resource=RESOURCE, timeout=wait))
        listed = expect(stage.plugin, lambda wait: log.wait_for(Listed, resource=RESOURCE, timeout=wait))
    stage.screen.done(f"registered {registered.resource} on {registered.endpoint}, API {registered.version}")
    if not listed.devices or not all(device.healthy for device in listed.devices):
        raise DemoError(f"The first list should hold healthy devices only, and holds {listed.health}.")
    show_devices(stage, listed)


def show_container(stage: Stage, count: int) -> str:
    """Give a container its GPUs, and return the id of one that stays free."""
    stage.screen.step(
        f"A container asks for {count} GPUs",
        "The kubelet asks which ones are best (GetPreferredAllocation), then what the container needs (Allocate).",
    )
    grant = stage.kubelet.admit(RESOURCE, count)
    if grant.preferred is None or len(grant.devices) != count:
        raise DemoError(f"The plugin prefers {grant.preferred}, the container gets {grant.devices}.")
    rows = [("preferred", stage.names.get(id_, "-"), id_) for id_ in grant.preferred]
    rows += [("allocated", stage.names.get(id_, "-"), id_) for id_ in grant.devices]
    stage.screen.table(("answer", "GPU", "device"), rows)
    response = grant.response
    edits = [f"{name}={value}" for name, value in sorted(response.envs.items())]
    edits += [f"device {spec.container_path} ({spec.permissions})" for spec in response.devices]
    edits += [f"CDI device {device.name}" for device in response.cdi_devices]
    stage.screen.say("The container gets:")
    for edit in edits:
        stage.screen.say(f"  {edit}")
    named = response.envs.get("NVIDIA_VISIBLE_DEVICES", "").split(",")
    if sorted(named) != sorted(grant.devices):
        raise DemoError(f"NVIDIA_VISIBLE_DEVICES names {named}, but {grant.devices} were allocated.")
    stage.screen.done("NVIDIA_VISIBLE_DEVICES names exactly these GPUs")
    free = [device.id for device in stage.kubelet.devices(RESOURCE) if device.id not in grant.devices]
    if not free:
        raise DemoError(f"Every GPU is in use; the demo needs one more than the {count} of the container.")
    return free[0]


def show_fault(stage: Stage, victim: str) -> None:
    """Make one GPU fall off the bus and show what the kubelet sees."""
    stage.screen.step(
        f"A GPU falls off the bus (XID {XID})",
        "The driver reports the fault; only that GPU becomes unhealthy, and its neighbours are not touched.",
    )
    happen(stage, f"recovery {victim} reset", f"event {victim} xid={XID}")
    before = time.monotonic()
    listed = wait_for_list(stage, "waiting for the fault to be seen", sick={victim})
    stage.screen.done(f"the kubelet was told after {(time.monotonic() - before) * 1000:.0f} ms")
    show_devices(stage, listed)


def show_recovery(stage: Stage, victim: str) -> None:
    """Let the driver say that the GPU is well again, and show that the kubelet gets it back."""
    stage.screen.step(
        "The GPU is reset",
        "It comes back once the driver wants no recovery action and the GPU has answered for a while; no restart.",
    )
    happen(stage, f"recovery {victim} none")
    listed = wait_for_list(stage, "waiting for the GPU to come back", sick=set())
    show_devices(stage, listed)


def show_end(stage: Stage) -> None:
    """Stop the plugin and check that it leaves nothing behind."""
    stage.screen.step("The plugin is stopped", "SIGTERM, as when its pod is deleted.")
    with stage.screen.waiting("waiting for the plugin to end"):
        code = stage.plugin.stop()
        if code:
            raise DemoError(f"`{stage.plugin.command}` ended with {code} after SIGTERM:\n{stage.plugin.log_tail()}")
        stage.kubelet.log.wait_for(StreamEnded, resource=RESOURCE, timeout=PATIENCE)
    left = sorted(path.name for path in stage.kubelet.directory.glob("*.sock") if path != stage.kubelet.socket)
    if left:
        raise DemoError(f"The plugin left its sockets behind: {', '.join(left)}.")
    stage.screen.done("exit code 0, and its socket is gone")


def happen(stage: Stage, *lines: str) -> None:
    """Make something happen to the simulated node."""
    with stage.events.open("a", encoding="utf-8") as file:
        for line in lines:
            stage.screen.command(f"echo '{line}' >> {stage.events.name}")
            file.write(f"{line}\n")


def wait_for_list(stage: Stage, what: str, *, sick: set[str]) -> Listed:
    """Wait until the kubelet's latest list has exactly these devices as unhealthy ones."""

    def latest(events: tuple[Event, ...]) -> Listed | None:
        listed = next((event for event in reversed(events) if isinstance(event, Listed)), None)
        found = {device.id for device in listed.devices if not device.healthy} if listed else None
        return listed if found == sick else None

    wanted = f"a list with {', '.join(sorted(sick)) or 'nothing'} unhealthy"
    with stage.screen.waiting(what):
        return expect(stage.plugin, lambda wait: stage.kubelet.log.wait_until(latest, wanted, timeout=wait))


def show_devices(stage: Stage, listed: Listed) -> None:
    """Show a list as the kubelet has it, and how many of its devices may be given to containers."""
    rows = [(stage.names.get(device.id, "-"), device.id, device.health, numa_text(device)) for device in listed.devices]
    stage.screen.table(("GPU", "device", "health", "NUMA node"), rows)
    healthy = sum(device.healthy for device in listed.devices)
    stage.screen.say(f"The kubelet counts {healthy} of {len(listed.devices)} {RESOURCE} as allocatable.")


def numa_text(device: ListedDevice) -> str:
    """Return the NUMA nodes of a device as a cell of a table."""
    return ", ".join(str(node) for node in device.numa_nodes) or "-"


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
