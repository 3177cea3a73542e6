"""MIG: whether what the GPUs are partitioned into can be served, and handed to containers."""

from __future__ import annotations

from collections.abc import Iterator

from device_plugin.doctor.finding import Finding, Trouble, ok, problem, warning
from device_plugin.doctor.scene import Scene
from gpu_core.config.words import MigStrategy
from gpu_core.counted import counted
from gpu_core.devices.mig_minors import MIG_MINORS_FILE

EXAMINATION = "MIG"
_CAPS = "/dev/nvidia-caps/nvidia-cap{}"


def mig(scene: Scene) -> Iterator[Finding]:
    """Look at the MIG devices, their access nodes and the strategy."""
    inventory = scene.driver.inventory
    if inventory is None:
        return
    enabled = [gpu for gpu in inventory.gpus if gpu.mig_enabled]
    if not enabled:
        yield ok(EXAMINATION, "No GPU is partitioned with MIG.")
        return
    devices = [device for gpu in enabled for device in gpu.mig_devices]
    empty = [gpu.index for gpu in enabled if not gpu.mig_devices]
    partitioned = len(enabled) - len(empty)
    whole = scene.config.flags.mig_strategy is MigStrategy.NONE
    if empty:
        yield warning(
            EXAMINATION,
            f"MIG is on, and there is no MIG device, on GPU {', '.join(map(str, empty))}.",
            "Containers that get such a GPU as a whole cannot run CUDA on it."
            if whole
            else "Nothing of these GPUs can be served.",
            "Make MIG devices with `nvidia-smi mig -cgi … -C`, or turn MIG off with `nvidia-smi -mig 0`.",
            trouble=Trouble.MIG,
        )
    if whole and partitioned:
        yield warning(
            EXAMINATION,
            f"{counted(partitioned, 'GPU')} {'is' if partitioned == 1 else 'are'} partitioned, and the MIG strategy is "
            "none.",
            "MIG devices are not served, and containers that get such a GPU as a whole cannot run CUDA on all of it.",
            "Set --mig-strategy to single or mixed.",
            trouble=Trouble.MIG,
        )
    if not inventory.mig_minors_known:
        yield problem(
            EXAMINATION,
            f"{MIG_MINORS_FILE} is not there.",
            "The access nodes of MIG devices are unknown, so containers cannot be given them.",
            "Mount the host's /proc/driver/nvidia-caps, or run with the NVIDIA runtime and "
            "NVIDIA_MIG_MONITOR_DEVICES=all.",
            trouble=Trouble.MIG,
        )
    elif not scene.simulated:
        yield from _access(scene, [minor for device in devices for minor in device.capability_minors or ()])
    if devices:
        yield ok(EXAMINATION, f"{counted(len(devices), 'MIG device')} on {counted(len(enabled), 'GPU')}.")


def _access(scene: Scene, minors: list[int]) -> Iterator[Finding]:
    missing = [path for path in map(_CAPS.format, minors) if not scene.own.path(path).exists()]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        yield problem(
            EXAMINATION,
            f"{counted(len(missing), 'access node')} of MIG devices {verb} not there, {missing[0]} for one.",
            "Containers with these MIG devices cannot use them.",
            "Run `nvidia-modprobe -f /proc/driver/nvidia/capabilities/…/access` on the node, or `nvidia-smi`, which "
            "make them.",
        )
