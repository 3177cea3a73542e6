"""What the doctor sees on the PCI bus."""

from __future__ import annotations

import pytest

from device_plugin.doctor.finding import Level
from device_plugin.doctor.pci_bus import pci_bus
from fakes.broken_nodes import Break, failing, nothing, unmounted
from fakes.node_root import NodeRoot


def seen(node: NodeRoot) -> list[tuple[Level, str]]:
    return [(finding.level, finding.fact) for finding in pci_bus(node.scene())]


def held_by(driver: str, *, serves: bool = False) -> Break:
    def arranged(node: NodeRoot) -> None:
        if serves:
            node.plug("0000:0f:00.0", driver=driver)
        else:
            failing("DRIVER_NOT_LOADED")(node)
            node.unplug()
            node.plug("0000:07:00.0", driver=driver)

    return arranged


def others_only(node: NodeRoot) -> None:
    unmounted(node)
    node.unplug()
    node.plug("0000:07:00.1", class_code=0x040300, driver="snd_hda_intel")
    node.plug("0000:08:00.0", class_code=0x068000)
    node.plug("0000:09:00.0", vendor=0x1002, driver="amdgpu")


@pytest.mark.parametrize(
    ("arrange", "expected"),
    [
        pytest.param(
            nothing,
            (Level.OK, "GPUs of NVIDIA's are on the PCI bus: 0000:07:00.0, held by nvidia."),
            id="a GPU that the driver holds",
        ),
        pytest.param(
            others_only,
            (Level.PROBLEM, "There is no GPU of NVIDIA's on the PCI bus."),
            id="sound of a GPU, an NVSwitch and GPUs of others are no GPU of NVIDIA's",
        ),
        pytest.param(
            held_by("nouveau"), (Level.PROBLEM, "0000:07:00.0 is held by the driver nouveau."), id="held by nouveau"
        ),
        pytest.param(
            held_by("nouveau", serves=True),
            (Level.WARNING, "0000:0f:00.0 is held by the driver nouveau."),
            id="one of several held by nouveau",
        ),
        pytest.param(held_by("vfio-pci"), (Level.PROBLEM, "0000:07:00.0 is held by vfio-pci."), id="kept for machines"),
        pytest.param(
            held_by("xen-pciback", serves=True),
            (Level.WARNING, "0000:0f:00.0 is held by xen-pciback."),
            id="one of several kept for machines",
        ),
        pytest.param(
            held_by(""),
            (
                Level.PROBLEM,
                "0000:07:00.0 is on the PCI bus, and NVIDIA's driver, which is loaded, does not hold it.",
            ),
            id="refused by the driver",
        ),
    ],
)
def test_what_is_on_the_bus(node: NodeRoot, arrange: Break, expected: tuple[Level, str]) -> None:
    arrange(node)
    assert seen(node) == [expected]


def test_a_gpu_that_nobody_holds_waits_for_the_driver_of_which_is_spoken_elsewhere(node: NodeRoot) -> None:
    held_by("")(node)
    node.remove("proc/driver/nvidia/version")
    assert seen(node) == [(Level.OK, "GPUs of NVIDIA's are on the PCI bus: 0000:07:00.0.")]


@pytest.mark.parametrize(
    "hide",
    [
        pytest.param(lambda node: node.remove("sys"), id="not mounted"),
        pytest.param(NodeRoot.unplug, id="shown without the GPU that the driver has"),
    ],
)
def test_a_bus_that_cannot_be_seen_says_nothing(node: NodeRoot, hide: Break) -> None:
    hide(node)
    assert seen(node) == [(Level.SKIPPED, "/sys/bus/pci/devices does not show here what is on the bus.")]


def wsl(node: NodeRoot) -> None:
    failing("UNKNOWN")(node)
    node.put("dev/dxg", "")


def tegra(node: NodeRoot) -> None:
    failing("UNKNOWN")(node)
    node.put("etc/nv_tegra_release", "# R36\n")


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(wsl, id="WSL"),
        pytest.param(tegra, id="Tegra"),
        pytest.param(lambda node: setattr(node, "node", "jetson"), id="a Tegra that answers"),
        pytest.param(lambda node: node.args.append("--simulated-node=t4"), id="a simulated node"),
    ],
)
def test_gpus_that_are_on_no_bus_are_not_looked_for_there(node: NodeRoot, arrange: Break) -> None:
    node.unplug()
    arrange(node)
    assert seen(node) == []
