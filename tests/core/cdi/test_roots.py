"""Paths are rewritten from our container's view to the host's."""

import pytest

from gpu_core.cdi.host_paths import HostPaths, rewrite_path
from gpu_core.cdi.model import ContainerEdits, DeviceNode, Hook, Mount, Spec, SpecDevice


@pytest.mark.parametrize(
    ("path", "seen", "host", "expected"),
    [
        pytest.param("/driver-root/usr/bin/x", "/driver-root", "/", "/usr/bin/x", id="below the mounted root"),
        pytest.param("/driver-root", "/driver-root", "/run/nvidia/driver", "/run/nvidia/driver", id="the root itself"),
        pytest.param("/driver-root-2/x", "/driver-root", "/", "/driver-root-2/x", id="a name that only begins alike"),
        pytest.param("/usr/bin/x", "/", "/host", "/host/usr/bin/x", id="from the whole file system"),
        pytest.param("/dev/nvidia0", "/driver-root", "/", "/dev/nvidia0", id="elsewhere"),
    ],
)
def test_one_path(path: str, seen: str, host: str, expected: str) -> None:
    assert rewrite_path(path, seen, host) == expected


def spec(node: DeviceNode, mount: Mount, hook: Hook) -> Spec:
    edits = ContainerEdits(device_nodes=(node,), mounts=(mount,), hooks=(hook,))
    return Spec(kind="v/gpu", devices=(SpecDevice(name="0", edits=edits),), edits=edits)


HOOK = Hook(path="/usr/bin/nvidia-ctk", args=("nvidia-ctk", "/driver-root/x"), env=("NVIDIA_CTK_DEBUG=false",))


def test_driver_files_and_device_nodes_have_roots_of_their_own() -> None:
    roots = HostPaths(seen_driver="/driver-root/", host_driver="/run/nvidia/driver", seen_dev="/", host_dev="/hostdev")
    seen = spec(
        DeviceNode(path="/dev/nvidia0"), Mount(host_path="/driver-root/usr/lib/x", container_path="/usr/lib/x"), HOOK
    )
    assert roots.on_host(seen) == spec(
        DeviceNode(path="/dev/nvidia0", host_path="/hostdev/dev/nvidia0"),
        Mount(host_path="/run/nvidia/driver/usr/lib/x", container_path="/usr/lib/x"),
        HOOK,
    )


def test_device_nodes_in_the_driver_root_follow_it() -> None:
    roots = HostPaths(seen_driver="/driver-root", host_driver="/", seen_dev="/driver-root", host_dev="/elsewhere")
    seen = spec(
        DeviceNode(path="/dev/nvidia0", host_path="/driver-root/dev/nvidia0"),
        Mount(host_path="/driver-root/x", container_path="/x"),
        HOOK,
    )
    assert roots.on_host(seen) == spec(
        DeviceNode(path="/dev/nvidia0", host_path="/dev/nvidia0"), Mount(host_path="/x", container_path="/x"), HOOK
    )


def test_equal_roots_leave_everything_alone() -> None:
    roots = HostPaths(seen_driver="/", host_driver="", seen_dev="/", host_dev="/")
    seen = spec(DeviceNode(path="/dev/nvidia0"), Mount(host_path="/x", container_path="/x"), HOOK)
    assert roots.on_host(seen) == seen


def test_a_dev_root_may_be_written_with_dev() -> None:
    roots = HostPaths(seen_driver="/d", host_driver="/d", seen_dev="/", host_dev="/hostdev/dev")
    seen = spec(DeviceNode(path="/dev/nvidia0"), Mount(host_path="/x", container_path="/x"), HOOK)
    assert roots.on_host(seen).devices[0].edits.device_nodes[0].host_path == "/hostdev/dev/nvidia0"
