"""What would be served: the resources that config and GPUs come to. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from device_plugin.doctor.finding import Finding, Trouble, ok, problem, warning
from device_plugin.doctor.scene import Scene
from device_plugin.plan import plan_node
from gpu_core.devices.filter import apply as without_unmanaged
from gpu_core.devices.filter import report
from gpu_core.errors import SuiteError

EXAMINATION = "resources"

_NO_MATCH = (
    "The filter does nothing that was meant for this node, or leaves it without any GPU.",
    "Correct `devices.include` and `devices.exclude`, unless they are meant for other nodes alone.",
)


def resources(scene: Scene) -> Iterator[Finding]:
    """Say what would be served, or why nothing."""
    inventory = scene.driver.inventory
    if inventory is None or scene.refused:
        return
    managed = without_unmanaged(inventory, scene.config.devices)
    filtered = report(inventory, scene.config.devices)
    if filtered.note:
        yield ok(EXAMINATION, filtered.note)
    if filtered.warning:
        yield warning(EXAMINATION, filtered.warning, *_NO_MATCH)
    try:
        plan = plan_node(managed, scene.config)
    except SuiteError as error:
        yield problem(
            EXAMINATION,
            str(error),
            "The plugin ends at its start with this config on this node.",
            "Change the config, or how the GPUs are partitioned.",
        )
        return
    for text in plan.warnings:
        # All of these are about GPUs that cannot be read and MIG devices that cannot be served.
        yield warning(
            EXAMINATION,
            text,
            "The plugin runs, and does not do all that was asked.",
            "Change the config.",
            follows=(Trouble.LOST_GPU, Trouble.MIG),
        )
    if plan.resources:
        served = ", ".join(f"{len(resource.devices)} {resource.name}" for resource in plan.resources)
        yield ok(EXAMINATION, f"Would be served: {served}.")
    elif inventory.gpus:
        yield problem(
            EXAMINATION,
            "There are GPUs, and nothing would be served.",
            "The config leaves all of them out, or MIG is on without MIG devices.",
            "Check `devices.include` and `devices.exclude`, `resources`, and the MIG strategy.",
            follows=(Trouble.MIG,),
        )
