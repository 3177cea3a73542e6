"""Drivers, device nodes and MIG that are broken in one way each: the doctor names it."""

from __future__ import annotations

import pytest

from device_plugin.doctor.driver_library import library
from device_plugin.doctor.finding import Finding, Level
from fakes.broken_nodes import Break, assert_named, failing, mig, not_ok, nothing, unmounted
from fakes.node_root import NodeRoot


def lost_gpu(node: NodeRoot) -> None:
    node.node = "a100x8"
    for number in range(8):
        node.put(f"dev/nvidia{number}", "")
    node.happenings.append("fail DeviceGetHandleByIndex 3 GPU_IS_LOST")


def half_read_gpu(node: NodeRoot) -> None:
    node.happenings.append("fail DeviceGetMemoryInfo * UNKNOWN")
    node.happenings.append("fail DeviceGetName * GPU_IS_LOST")


def wrong_node(node: NodeRoot) -> None:
    node.remove("dev/nvidia0")
    (node.root / "dev/nvidia0").mkdir()


def second_library(node: NodeRoot) -> None:
    node.put("usr/lib64/libnvidia-ml.so.535.1.2", "")
    node.link("usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.535.1.2")


def unlisted_library(node: NodeRoot) -> None:
    node.driver_missing = True
    for name in ("libnvidia-ml.so.1", "libnvidia-ml.so", "libnvidia-ml.so.550.90.07"):
        node.remove(f"usr/lib/x86_64-linux-gnu/{name}")


BROKEN = [
    pytest.param(
        unlisted_library,
        "driver library",
        Level.PROBLEM,
        "no library of its ld.so.cache; no directory of its ld.so.conf.d) nor in the loader's own path",
        id="the driver is where nobody searches: it is said where was searched",
    ),
    pytest.param(unmounted, "driver library", Level.PROBLEM, "No NVIDIA driver was found", id="no driver at all"),
    pytest.param(
        lambda node: node.remove("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07"),
        "driver library",
        Level.PROBLEM,
        "is a link to libnvidia-ml.so.550.90.07, which is not there",
        id="the library's link leads nowhere",
    ),
    pytest.param(
        failing("DRIVER_NOT_LOADED"), "driver", Level.PROBLEM, "DRIVER_NOT_LOADED", id="the kernel module is not loaded"
    ),
    pytest.param(
        failing("LIB_RM_VERSION_MISMATCH"), "driver", Level.PROBLEM, "MISMATCH", id="NVML does not fit the module"
    ),
    pytest.param(
        failing("NOT_SUPPORTED"), "driver", Level.PROBLEM, "NOT_SUPPORTED", id="the library is for another machine"
    ),
    pytest.param(failing("NO_PERMISSION"), "driver", Level.PROBLEM, "NO_PERMISSION", id="the driver may not be used"),
    pytest.param(failing("TIMEOUT"), "driver", Level.PROBLEM, "TIMEOUT", id="the driver hangs"),
    pytest.param(failing("UNKNOWN"), "driver", Level.PROBLEM, "UNKNOWN", id="the driver fails in an unknown way"),
    pytest.param(
        lambda node: node.replace("proc/driver/nvidia/version", "550.90.07", "560.35.03"),
        "driver versions",
        Level.PROBLEM,
        "The kernel's driver is 560.35.03, the library is 550.90.07",
        id="module and library are of different versions",
    ),
    pytest.param(
        second_library, "driver versions", Level.WARNING, "535.1.2, 550.90.07", id="two drivers are installed"
    ),
    pytest.param(
        lambda node: node.remove("proc/driver/nvidia/version"),
        "driver versions",
        Level.PROBLEM,
        "/proc/driver/nvidia/version is not there",
        id="the kernel has no driver",
    ),
    pytest.param(lost_gpu, "driver", Level.PROBLEM, "GPU 3 cannot be read", id="a GPU fell off the bus"),
    pytest.param(half_read_gpu, "driver", Level.PROBLEM, "only in part", id="a GPU answers in part"),
    pytest.param(
        lambda node: setattr(node, "node", "nogpu"),
        "driver",
        Level.PROBLEM,
        "it has no GPU",
        id="no GPU in the machine",
    ),
    pytest.param(
        lambda node: node.remove("dev/nvidia-uvm"),
        "device nodes",
        Level.PROBLEM,
        "/dev/nvidia-uvm is not there",
        id="a control node is missing",
    ),
    pytest.param(
        lambda node: node.remove("dev/nvidia0"),
        "device nodes",
        Level.PROBLEM,
        "/dev/nvidia0 is not there",
        id="a GPU's node is missing",
    ),
    pytest.param(
        wrong_node, "device nodes", Level.PROBLEM, "/dev/nvidia0 is no character device", id="a directory for a node"
    ),
    pytest.param(
        lambda node: node.machine.forbidden.add(node.root / "dev/nvidiactl"),
        "device nodes",
        Level.PROBLEM,
        "/dev/nvidiactl may not be opened",
        id="a node is closed to us",
    ),
    pytest.param(
        lambda node: node.remove("dev/nvidia-modeset"),
        "device nodes",
        Level.WARNING,
        "/dev/nvidia-modeset is not there",
        id="a node that only some need",
    ),
    pytest.param(
        lambda node: node.config("imex: {channelIDs: [0], required: true}\n"),
        "device nodes",
        Level.PROBLEM,
        "IMEX channel /dev/nvidia-caps-imex-channels/channel0",
        id="a required IMEX channel",
    ),
    pytest.param(
        lambda node: node.config("imex: {channelIDs: [0]}\n"),
        "device nodes",
        Level.WARNING,
        "IMEX channel",
        id="an IMEX channel that is not required",
    ),
    pytest.param(
        mig(lambda node: node.remove("dev/nvidia-caps")),
        "MIG",
        Level.PROBLEM,
        "access nodes of MIG devices are not there",
        id="access nodes of MIG devices are missing",
    ),
    pytest.param(
        mig(nothing, strategy="none"), "MIG", Level.WARNING, "the MIG strategy is none", id="MIG is not served"
    ),
    pytest.param(
        mig(nothing, node_file="a100-mig-empty"),
        "MIG",
        Level.WARNING,
        "there is no MIG device",
        id="MIG is empty",
    ),
]


@pytest.mark.parametrize(("break_", "examination", "level", "part"), BROKEN)
def test_each_breakage_is_named(node: NodeRoot, break_: Break, examination: str, level: Level, part: str) -> None:
    break_(node)
    assert_named(node, examination, level, part)


def library_finding(node: NodeRoot) -> Finding:
    return next(finding for finding in library(node.scene()) if finding.level is Level.OK)


def test_it_is_said_how_to_name_a_place_where_nobody_searches(node: NodeRoot) -> None:
    unlisted_library(node)
    (found,) = [finding for finding in library(node.scene()) if finding.level is Level.PROBLEM]
    assert "directories in it that are not searched are named with --driver-library-path" in found.next_step


def test_the_library_is_found_where_the_user_says_and_the_places_are_listed(node: NodeRoot) -> None:
    unlisted_library(node)
    node.driver_missing = False
    node.put("opt/nvidia/lib64/libnvidia-ml.so.1", "")
    node.args += ["--driver-root-ctr-path=/", "--driver-library-path=/opt/nvidia/lib64"]
    found = library_finding(node)
    assert found.fact == f"libnvidia-ml.so.1 was found: {node.root}/opt/nvidia/lib64/libnvidia-ml.so.1."
    assert found.meaning.startswith(f"Searched: the driver root {node.root} (/opt/nvidia/lib64, /, /usr/lib64, ")
    assert found.meaning.endswith("--driver-library-path names other directories.")


def test_the_library_is_found_where_our_own_loader_looks(node: NodeRoot) -> None:
    unlisted_library(node)
    node.driver_missing = False
    node.put("mine/libnvidia-ml.so.1", "")
    node.environ["LD_LIBRARY_PATH"] = "/mine:"
    assert library_finding(node).fact == f"libnvidia-ml.so.1 was found: {node.root}/mine/libnvidia-ml.so.1."


def test_an_absolute_link_is_followed_below_the_root(node: NodeRoot) -> None:
    node.put("opt/libnvidia-ml.so.550.90.07", "")
    node.link("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "/opt/libnvidia-ml.so.550.90.07")
    assert not_ok(library(node.scene())) == []
