"""The PCI bus: whether there is a GPU of NVIDIA's at all, and which driver holds it, before anybody installs one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from device_plugin.doctor.finding import Finding, Trouble, ok, problem, skipped, warning
from device_plugin.doctor.scene import Scene
from gpu_core.devices.model import Platform
from gpu_core.devices.node_files import PCI_DEVICES, MachineFiles
from gpu_core.devices.pci import NVIDIA
from gpu_core.devices.vfio import DRIVER as VFIO

EXAMINATION = "PCI bus"

_DISPLAY = 0x03
"""PCI's class of what computes pictures, to which GPUs belong, also those without a socket for a screen."""

_OURS = "nvidia"
_FREE = "nouveau"
_DXG = "/dev/dxg"
KERNEL_DRIVER = "/proc/driver/nvidia/version"
"""Where the kernel tells the version of NVIDIA's driver, once that is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusGpu:
    """A GPU on the bus, and the kernel's driver that holds it; empty for none."""

    address: str
    driver: str


def on_pci(scene: Scene) -> bool:
    """Whether GPUs of this machine are on its PCI bus and a driver in its kernel is theirs: not for Tegra and WSL."""
    if scene.simulated:
        return False
    inventory = scene.driver.inventory
    if inventory is not None and inventory.platform in (Platform.TEGRA, Platform.WSL):
        return False
    return not scene.own.path(_DXG).exists() and not MachineFiles(scene.own).tegra_mark()


def gpus_on_bus(scene: Scene) -> tuple[BusGpu, ...] | None:
    """Return the GPUs of NVIDIA's by address; None where there is no bus to see, or where they are not on it."""
    if not on_pci(scene):
        return None
    files = MachineFiles(scene.own)
    try:
        folders = sorted(scene.own.path(PCI_DEVICES).iterdir())
    except OSError:
        return None
    found = []
    for folder in folders:
        facts = files.pci(folder.name)
        if facts is not None and facts.vendor == NVIDIA and (facts.class_code or 0) >> 16 == _DISPLAY:
            link = folder / "driver"
            found.append(BusGpu(address=folder.name, driver=link.resolve().name if link.exists() else ""))
    return tuple(found)


def pci_bus(scene: Scene) -> Iterator[Finding]:
    """Say which GPUs there are and who holds them."""
    if not on_pci(scene):
        return
    inventory = scene.driver.inventory
    served = inventory is not None and bool(inventory.gpus)
    gpus = gpus_on_bus(scene)
    if gpus is None or (not gpus and served):
        yield skipped(EXAMINATION, f"{PCI_DEVICES} does not show here what is on the bus.")
        return
    if not gpus:
        yield problem(
            EXAMINATION,
            "There is no GPU of NVIDIA's on the PCI bus.",
            "There is nothing to serve on this node, and a driver would not change that.",
            "If this is no GPU node, keep the plugin off it with a node selector. Otherwise check in a virtual machine "
            "that the GPU is passed through to it, and on hardware its slot, its power and the BIOS.",
            trouble=Trouble.NO_GPU,
        )
        return
    found = list(_held(scene, gpus, served=served))
    yield from found
    if not found:
        holders = sorted({gpu.driver for gpu in gpus if gpu.driver})
        by = f", held by {', '.join(holders)}" if holders else ""
        yield ok(EXAMINATION, f"GPUs of NVIDIA's are on the PCI bus: {_listed(gpus)}{by}.")


def _held(scene: Scene, gpus: tuple[BusGpu, ...], *, served: bool) -> Iterator[Finding]:
    inventory = scene.driver.inventory
    vfio = inventory is not None and inventory.platform is Platform.VFIO
    judge = warning if served else problem
    free = tuple(gpu for gpu in gpus if gpu.driver == _FREE)
    if free:
        yield judge(
            EXAMINATION,
            f"{_listed(free)} {_is(free)} held by the driver {_FREE}.",
            "NVIDIA's driver cannot use a GPU that another driver holds.",
            f"Keep {_FREE} from being loaded (`blacklist {_FREE}` in a file in /etc/modprobe.d, the initramfs made "
            "anew), and restart the node.",
            trouble=Trouble.HELD_BY_NOUVEAU,
            follows=(Trouble.NO_LIBRARY,),
        )
    others = tuple(gpu for gpu in gpus if gpu.driver not in ("", _OURS, _FREE) and not (vfio and gpu.driver == VFIO))
    if others:
        names = ", ".join(sorted({gpu.driver for gpu in others}))
        yield judge(
            EXAMINATION,
            f"{_listed(others)} {_is(others)} held by {names}.",
            "These GPUs are kept for virtual machines; containers do not get them.",
            "Give them back to NVIDIA's driver, or serve them to virtual machines: --device-discovery-strategy=vfio.",
            trouble=Trouble.HELD_ELSEWHERE,
        )
    alone = tuple(gpu for gpu in gpus if not gpu.driver)
    if alone and scene.own.path(KERNEL_DRIVER).exists():
        yield judge(
            EXAMINATION,
            f"{_listed(alone)} {_is(alone)} on the PCI bus, and NVIDIA's driver, which is loaded, does not hold "
            f"{'it' if len(alone) == 1 else 'them'}.",
            "The driver has refused the GPU: it does not know its model, or could not start it.",
            "`dmesg | grep NVRM` says why. A new GPU needs a newer driver, an old one may need an older driver or the "
            "proprietary kernel modules.",
            trouble=Trouble.HELD_ELSEWHERE,
        )


def _listed(gpus: tuple[BusGpu, ...]) -> str:
    return ", ".join(gpu.address for gpu in gpus)


def _is(gpus: tuple[BusGpu, ...]) -> str:
    return "is" if len(gpus) == 1 else "are"
