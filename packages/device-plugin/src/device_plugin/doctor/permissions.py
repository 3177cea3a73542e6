"""Whether this process may do what the plugin has to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from device_plugin.doctor.finding import Finding, Trouble, ok, skipped, warning
from device_plugin.doctor.scene import Scene
from gpu_core.config.words import DeviceListStrategy

EXAMINATION = "permissions"
REPORTS = "cluster reports"

_STATUS = "/proc/self/status"
_FIELD = re.compile(r"^(Uid|CapEff):\s*(\S+)", re.MULTILINE)
_SYS_ADMIN = 21
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  Where one is found.


def permissions(scene: Scene) -> Iterator[Finding]:
    """Look at our user and capabilities."""
    try:
        facts = dict(_FIELD.findall(scene.own.path(_STATUS).read_text("utf-8")))
        user, capabilities = int(facts["Uid"]), int(facts["CapEff"], 16)
    except (OSError, KeyError, ValueError):
        yield skipped(EXAMINATION, f"{_STATUS} cannot be read.")
        return
    inventory = scene.driver.inventory
    partitioned = inventory is not None and any(gpu.mig_enabled for gpu in inventory.gpus)
    volumes = DeviceListStrategy.VOLUME_MOUNTS in scene.strategies
    if user != 0:
        yield warning(
            EXAMINATION,
            f"This process runs as user {user}.",
            "The kubelet's device plugin directory belongs to root, so the plugin cannot serve as this user.",
            "Run as root: `sudo nvidia-device-plugin doctor` on the host, or runAsUser: 0.",
            trouble=Trouble.NOT_ROOT,
        )
    if (partitioned or volumes) and not capabilities >> _SYS_ADMIN & 1:
        reason = "MIG devices are monitored" if partitioned else "volume mounts are used"
        yield warning(
            EXAMINATION,
            f"The capability SYS_ADMIN is missing, and {reason}.",
            "Health events of MIG devices may not be received, and the runtime may not give us all GPUs.",
            "Give the container SYS_ADMIN; the chart does where MIG or volume mounts are possible.",
        )
    elif user == 0:
        yield ok(EXAMINATION, "This process runs as root.")


def reports(scene: Scene) -> Iterator[Finding]:
    """Look whether the cluster can be reached for Events and the node condition."""
    settings = scene.settings
    if not settings.uses_cluster:
        return
    if not settings.node_name:
        yield warning(
            REPORTS,
            "Reports to the cluster, or the removal of a taint, are asked for, and the node has no name.",
            "The plugin ends at its start.",
            "Give the name with --node-name or NODE_NAME; the chart does.",
        )
    elif not settings.kubeconfig and not scene.own.path(_TOKEN).exists():
        yield warning(
            REPORTS,
            "Reports to the cluster, or the removal of a taint, are asked for, and there is no service account and no "
            "kubeconfig.",
            "Nothing is reported, and no taint is removed.",
            "Mount the service account's token (automountServiceAccountToken), or give --kubeconfig.",
        )
    else:
        yield ok(REPORTS, f"The cluster can be told of the node {settings.node_name}.")
