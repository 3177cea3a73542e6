"""The kubelet's sockets and our own: whether we can serve where it looks, and whether it listens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from device_plugin.doctor.finding import Finding, Trouble, ok, problem, skipped, warning
from device_plugin.doctor.scene import Scene
from gpu_kubelet.pods import POD_RESOURCES_SOCKET

EXAMINATION = "kubelet"
SOCKETS = "plugin sockets"
PODS = "pod resources"


def kubelet(scene: Scene) -> Iterator[Finding]:
    """Look for the kubelet's socket."""
    settings = scene.settings
    if not settings.kubelet_socket:
        yield skipped(EXAMINATION, "No kubelet socket is configured: the plugin serves without registering.")
        return
    socket = scene.own.path(settings.kubelet_socket)
    if not socket.parent.is_dir():
        yield problem(
            EXAMINATION,
            f"{settings.kubelet_socket.rpartition('/')[0]} is no directory.",
            "The kubelet's socket can never appear there, and the plugin ends.",
            "Mount the host's device plugin directory there. Where the kubelet has another --root-dir, give its socket "
            "with --kubelet-socket.",
        )
    elif not socket.exists():
        yield problem(
            EXAMINATION,
            f"{settings.kubelet_socket} is not there.",
            "No kubelet runs here, or it has another directory; nothing can be registered.",
            "Check `systemctl status kubelet`, and its --root-dir; some distributions (k0s, MicroK8s) have their own.",
            trouble=Trouble.NO_KUBELET,
        )
    elif not scene.machine.answers(socket):
        yield problem(
            EXAMINATION,
            f"Nobody accepts connections on {settings.kubelet_socket}.",
            "The kubelet is stopped, or it left the socket behind; or we may not connect.",
            "Check `systemctl status kubelet`; in a container, check that it runs as root.",
            trouble=Trouble.NO_KUBELET,
            follows=(Trouble.NOT_ROOT,),
        )
    else:
        yield ok(EXAMINATION, f"The kubelet accepts connections on {settings.kubelet_socket}.")


def plugin_sockets(scene: Scene) -> Iterator[Finding]:
    """Look at the directory of our own sockets, and at who serves there."""
    text = scene.settings.device_plugin_dir
    directory = scene.own.path(text)
    if not directory.is_dir():
        return
    if not scene.machine.may(directory, write=True):
        yield problem(
            SOCKETS,
            f"{text} may not be written to.",
            "The plugin cannot place its sockets, and the kubelet hears of no GPU.",
            "Run as root with the directory mounted writable; with SELinux, check `ausearch -m avc`.",
            follows=(Trouble.NOT_ROOT,),
        )
        return
    ours = sorted(path for path in directory.glob("nvidia-*.sock"))
    served = [path.name for path in ours if scene.machine.answers(path)]
    stale = [path.name for path in ours if path.name not in served]
    if stale:
        yield warning(
            SOCKETS,
            f"Nobody serves {', '.join(stale)} in {text}.",
            "A plugin that was killed has left them. A plugin that starts replaces them.",
            "Start the plugin, or remove the files.",
            follows=(Trouble.NOT_ROOT,),
        )
    if served:
        yield ok(SOCKETS, f"A plugin serves {', '.join(served)}.", "A second one on this node would be in its way.")
    elif not stale:
        yield ok(SOCKETS, f"{text} can be written to; no plugin serves in it now.")


def pod_resources(scene: Scene) -> Iterator[Finding]:
    """Look for the socket that tells which pod holds which device."""
    socket: Path = scene.own.path(POD_RESOURCES_SOCKET)
    if not socket.exists():
        yield skipped(
            PODS,
            f"{POD_RESOURCES_SOCKET} is not visible here: `status` cannot tell which pod holds which device.",
            "Run `status` on the host, or mount /var/lib/kubelet/pod-resources.",
        )
    elif scene.machine.answers(socket):
        yield ok(PODS, "The kubelet tells which pod holds which device.")
    else:
        yield warning(
            PODS,
            f"Nobody accepts connections on {POD_RESOURCES_SOCKET}.",
            "`status` cannot tell which pod holds which device.",
            "Check `systemctl status kubelet`.",
            follows=(Trouble.NOT_ROOT, Trouble.NO_KUBELET),
        )
