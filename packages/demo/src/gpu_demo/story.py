"""The demo, step by step: a node's labels, its plugin and a kubelet, a container, a fault and the way back.

What a node cannot show is left out, and said: one without GPUs has nothing to serve, and the drivers of Tegra and WSL
tell of no fault.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from gpu_demo.kubelet import Grant, Kubelet, Listed, NotEnoughDevicesError, Registered, StreamEnded
from gpu_demo.node_facts import NodeFacts
from gpu_demo.programs import Command, DemoError
from gpu_demo.stage import PATIENCE, RESOURCE, Demo, Stage

# "GPU has fallen off the bus", which no container survives.
XID = 79

_FEW = 2
"""How many GPUs a container asks for by itself."""

# A GPU that was reset is trusted again after a second here, so that nobody has to wait for a minute.
CONFIG = """\
version: v1
health:
  probeInterval: 250ms
  recoveryQuietTime: 1s
"""


def steps(facts: NodeFacts) -> int:
    """Return how many steps the story of a node has."""
    if not facts.has_gpus:
        return 4
    return 7 if facts.tells_faults else 6


def tell(demo: Demo) -> None:
    """Show everything; raises DemoError at the first step that does not come out as it should."""
    show_labels(demo)
    show_topology(demo)
    demo.screen.step("The device plugin meets the kubelet", "A stand-in kubelet speaks the real API on a Unix socket.")
    events = demo.directory / "events"
    events.touch()
    with Kubelet(demo.directory / "kubelet") as kubelet:
        command = plugin_command(demo, kubelet)
        demo.screen.command(str(command))
        with demo.programs.start(command, log=demo.directory / "plugin.log") as plugin:
            stage = Stage(screen=demo.screen, kubelet=kubelet, plugin=plugin, events=events, facts=demo.facts)
            if demo.facts.has_gpus:
                show_service(stage, demo.gpus)
            else:
                show_waiting(stage)
            show_end(stage)


def show_service(stage: Stage, gpus: int | None) -> None:
    """Show a node with GPUs: registration, a container, and what becomes of a GPU that it holds."""
    listed = show_registration(stage)
    grant = show_container(stage, min(_FEW, len(listed.devices)) if gpus is None else gpus)
    if stage.facts.tells_faults:
        show_fault(stage, grant.devices[0])
        show_recovery(stage, grant.devices[0])
    else:
        stage.screen.step(
            "A GPU fails",
            "Drivers of this platform tell of no fault: its devices are healthy as long as they are there.",
        )


def show_labels(demo: Demo) -> None:
    """Print what gpu-feature-discovery says of the node."""
    demo.screen.step("What the node is", "GPU Feature Discovery describes the GPUs as node labels, for the scheduler.")
    command = Command(program="gfd", arguments=("--oneshot", "--format=table", f"--simulated-node={demo.node}"))
    demo.screen.command(str(command))
    with demo.screen.waiting("reading the node"):
        printed = demo.programs.run(command)
    if "nvidia.com/" not in printed:
        raise DemoError(f"`{command}` printed no labels:\n{printed}")
    demo.screen.block(printed)


def show_topology(demo: Demo) -> None:
    """Print how the GPUs are connected."""
    demo.screen.step("How its GPUs are connected", "GPUs that are close to each other are given out together.")
    command = Command(program="gfd", arguments=("topology", f"--simulated-node={demo.node}"))
    demo.screen.command(str(command))
    with demo.screen.waiting("reading the links"):
        printed = demo.programs.run(command)
    demo.screen.block(printed)


def plugin_command(demo: Demo, kubelet: Kubelet) -> Command:
    """Return how the device plugin is started, with its socket beside the kubelet's; writes its config file."""
    config = demo.directory / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    return Command(
        program="nvidia-device-plugin",
        arguments=(
            f"--simulated-node={demo.node}",
            f"--simulated-events={demo.directory / 'events'}",
            f"--config-file={config}",
            f"--kubelet-socket={kubelet.socket}",
            f"--device-plugin-dir={kubelet.directory}",
        ),
    )


def show_registration(stage: Stage) -> Listed:
    """Wait for the registration and the first list of devices."""
    log = stage.kubelet.log
    with stage.screen.waiting("waiting for the registration"):
        registered = stage.expect(lambda wait: log.wait_for(Registered, resource=RESOURCE, timeout=wait))
        listed = stage.expect(lambda wait: log.wait_for(Listed, resource=RESOURCE, timeout=wait))
    stage.screen.done(f"registered {registered.resource} on {registered.endpoint}, API {registered.version}")
    if not listed.devices or not all(device.healthy for device in listed.devices):
        raise DemoError(f"The first list should hold healthy devices only, and holds {listed.health}.")
    stage.show_devices(listed)
    return listed


def show_waiting(stage: Stage) -> None:
    """Show that a plugin without GPUs stays up, says why, and registers nothing."""
    with stage.screen.waiting("waiting for the plugin to look for GPUs"):
        said = stage.expect(lambda wait: stage.plugin.wait_for_line(_warns, timeout=wait))
    stage.screen.say(f"The plugin says: {said['event']}")
    registered = stage.kubelet.log.events(Registered)
    if registered:
        raise DemoError(f"There is no GPU, and {registered[0].resource} was registered.")
    stage.screen.done("the plugin waits, and has registered nothing")


def _warns(line: Mapping[str, Any]) -> bool:
    return line.get("level") == "warning"


def show_container(stage: Stage, count: int) -> Grant:
    """Give a container its GPUs, as many of them as there are."""
    stage.screen.step(
        f"A container asks for {count} {'GPU' if count == 1 else 'GPUs'}",
        "The kubelet asks which ones are best (GetPreferredAllocation), then what the container needs (Allocate).",
    )
    try:
        grant = stage.kubelet.admit(RESOURCE, count)
    except NotEnoughDevicesError as error:
        count = len(stage.kubelet.devices(RESOURCE))
        stage.screen.say(f"{error} In a cluster, its pod stays Pending. Here, it asks again for {count}.")
        grant = stage.kubelet.admit(RESOURCE, count)
    if grant.preferred is None or len(grant.devices) != count:
        raise DemoError(f"The plugin prefers {grant.preferred}, the container gets {grant.devices}.")
    rows = [("preferred", stage.name(id_), id_) for id_ in grant.preferred]
    rows += [("allocated", stage.name(id_), id_) for id_ in grant.devices]
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
    stage.screen.done(f"NVIDIA_VISIBLE_DEVICES names exactly {'this GPU' if count == 1 else 'these GPUs'}")
    return grant


def show_fault(stage: Stage, victim: str) -> None:
    """Make a GPU of the container fall off the bus and show what the kubelet sees."""
    stage.screen.step(
        f"A GPU of the container falls off the bus (XID {XID})",
        f"The driver reports the fault of {stage.name(victim)}; only that GPU becomes unhealthy, and its neighbours "
        "are not touched.",
    )
    stage.happen(f"recovery {victim} reset", f"event {victim} xid={XID}")
    before = time.monotonic()
    listed = stage.wait_for_list("waiting for the fault to be seen", unhealthy={victim})
    stage.screen.done(f"the kubelet was told after {(time.monotonic() - before) * 1000:.0f} ms")
    stage.show_devices(listed)


def show_recovery(stage: Stage, victim: str) -> None:
    """Let the driver say that the GPU needs no recovery any more, and show that the kubelet gets it back."""
    stage.screen.step(
        "The GPU is reset",
        "It comes back once the driver wants no recovery action and the GPU has answered for a while; no restart.",
    )
    stage.happen(f"recovery {victim} none")
    listed = stage.wait_for_list("waiting for the GPU to come back", unhealthy=set())
    stage.show_devices(listed)


def show_end(stage: Stage) -> None:
    """Stop the plugin and check that it leaves nothing behind."""
    stage.screen.step("The plugin is stopped", "SIGTERM, as when its pod is deleted.")
    with stage.screen.waiting("waiting for the plugin to end"):
        code = stage.plugin.stop()
        if code:
            raise DemoError(f"`{stage.plugin.command}` ended with {code} after SIGTERM:\n{stage.plugin.log_tail()}")
        if stage.facts.has_gpus:
            stage.kubelet.log.wait_for(StreamEnded, resource=RESOURCE, timeout=PATIENCE)
    left = sorted(path.name for path in stage.kubelet.directory.glob("*.sock") if path != stage.kubelet.socket)
    if left:
        raise DemoError(f"The plugin left its sockets behind: {', '.join(left)}.")
    stage.screen.done(f"exit code 0, and {'its socket is gone' if stage.facts.has_gpus else 'no socket is left'}")
