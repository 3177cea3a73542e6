"""The device nodes of driver and GPUs: whether they are there, are what they should be, and may be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from device_plugin.doctor.finding import DRIVERLESS, Finding, Trouble, ok, problem, warning
from device_plugin.doctor.pci_bus import on_pci
from device_plugin.doctor.scene import Scene
from gpu_core.devices.device_nodes import IMEX_CHANNEL_NODE, NEEDED_NODES, USEFUL_NODES
from gpu_core.devices.model import Platform

EXAMINATION = "device nodes"


def device_nodes(scene: Scene) -> Iterator[Finding]:
    """Look at the nodes that containers will need."""
    inventory = scene.driver.inventory
    if not on_pci(scene) or (inventory is not None and inventory.platform is not Platform.NVML):
        return
    needed = list(NEEDED_NODES)
    if inventory is not None:
        needed += [f"/dev/nvidia{gpu.minor}" for gpu in inventory.gpus if gpu.minor is not None]
    found = list(_judged(scene, needed))
    yield from found
    missing = [path for path in USEFUL_NODES if not scene.own.path(path).exists()]
    if missing:
        yield warning(
            EXAMINATION,
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not there.",
            "CUDA works; profilers (uvm-tools) or graphics (modeset) may not.",
            "Run `nvidia-modprobe -u -m` on the node, if you need them.",
            follows=(*DRIVERLESS, Trouble.NODES_MISSING),
        )
    if not found:
        yield ok(EXAMINATION, f"{len(needed)} device nodes are there and may be used.")
    for channel in scene.config.imex.channel_ids:
        path = IMEX_CHANNEL_NODE.format(channel)
        if not scene.machine.character_device(scene.own.path(path)):
            judge = problem if scene.config.imex.required else warning
            yield judge(
                EXAMINATION,
                f"The IMEX channel {path} is not there.",
                "Containers do not get it" + (", and the plugin ends." if scene.config.imex.required else "."),
                "Start the nvidia-imex service on the node, with this channel in its configuration.",
                follows=DRIVERLESS,
            )


def _judged(scene: Scene, paths: list[str]) -> Iterator[Finding]:
    for path in paths:
        seen: Path = scene.own.path(path)
        if not seen.exists():
            yield problem(
                EXAMINATION,
                f"{path} is not there.",
                "Containers cannot use a GPU without it." if path in NEEDED_NODES else "No container can use this GPU.",
                "Run `nvidia-modprobe -u -c 0` or `nvidia-smi` as root on the node, which make the nodes; in a "
                "container, use the NVIDIA runtime or mount /dev.",
                trouble=Trouble.NODES_MISSING,
                follows=DRIVERLESS,
            )
        elif not scene.machine.character_device(seen):
            yield problem(
                EXAMINATION,
                f"{path} is no character device.",
                "Something else was created in its place, as by a bind mount of a path that did not exist.",
                "Remove it on the node and run `nvidia-modprobe -u -c 0`.",
            )
        elif not scene.machine.may(seen, write=True):
            yield problem(
                EXAMINATION,
                f"{path} may not be opened.",
                "The driver cannot be used from here.",
                "Check the mode of the node (the driver's default is 0666) and the device cgroup of the container.",
                trouble=Trouble.NODES_CLOSED,
                follows=(Trouble.NOT_ROOT,),
            )
