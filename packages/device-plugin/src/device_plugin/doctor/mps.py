"""MPS: whether the daemon that shares GPUs is there and answers, where the config shares through it."""

from __future__ import annotations

from collections.abc import Iterator

from device_plugin.doctor.finding import DRIVERLESS, Finding, Trouble, ok, problem, warning
from device_plugin.doctor.scene import Scene
from device_plugin.plan import plan_node
from gpu_core.config.words import SharingStrategy
from gpu_core.devices.filter import apply as without_unmanaged
from gpu_core.errors import ProcessError, SuiteError
from gpu_core.mps import CONTROL, HEALTH_QUESTION, DaemonPlan, MpsRoot, unanswered

EXAMINATION = "MPS"


def mps(scene: Scene) -> Iterator[Finding]:
    """Look at the shared directory and ask every daemon that there should be."""
    if scene.config.sharing.strategy is not SharingStrategy.MPS:
        yield ok(EXAMINATION, "The config shares nothing through MPS.")
        return
    root = scene.settings.mps_root_ctr
    seen = MpsRoot(str(scene.own.path(root)))
    if not scene.own.path(root).is_dir():
        yield problem(
            EXAMINATION,
            f"{root} is not there.",
            "The plugin cannot see the MPS daemon, and waits for it for ever.",
            "Mount the host's MPS root there, as the chart does.",
        )
        return
    if not scene.own.path(f"{root}/.ready").exists():
        yield warning(
            EXAMINATION,
            f"{root}/.ready is not there.",
            "The MPS daemon does not run, or is not ready; shared resources are not served until it is.",
            "See the pod of mps-control-daemon on this node, which needs the label nvidia.com/mps.capable=true.",
            trouble=Trouble.NO_MPS,
            follows=(*DRIVERLESS, Trouble.NO_ANSWER),
        )
    for plan in _plans(scene):
        yield from _daemon(scene, plan, seen)


def _daemon(scene: Scene, plan: DaemonPlan, root: MpsRoot) -> Iterator[Finding]:
    try:
        done = scene.machine.run((CONTROL,), root.environment(plan.resource), HEALTH_QUESTION)
        reason = unanswered(done.returncode, done.stdout, done.stderr) or ""
    except ProcessError as error:
        reason = str(error)
    if reason:
        yield problem(
            EXAMINATION,
            f"The MPS control daemon of {plan.resource} does not answer: {reason}",
            f"{plan.resource} is not served until it does.",
            "See the log of mps-control-daemon on this node, and whether both programs have the same config.",
            follows=(Trouble.NO_MPS,),
        )
    else:
        yield ok(EXAMINATION, f"The MPS control daemon of {plan.resource} answers.")


def _plans(scene: Scene) -> tuple[DaemonPlan, ...]:
    if scene.driver.inventory is None:
        return ()
    try:
        return plan_node(without_unmanaged(scene.driver.inventory, scene.config.devices), scene.config).daemons
    except SuiteError:
        # Said where the resources are looked at.
        return ()
