"""XIDs, the driver's error numbers: what each means, and what NVIDIA's catalogue of them says to do.

The facts are those of NVIDIA's XID catalogue for Ampere and newer GPUs, as of October 2025; numbers that it does not
use any more are known by name only. docs/reference/xids.md is the same for people, made by `reference`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What is to be done at once, by the catalogue's word for it."""

    NOTHING = "IGNORE"
    RESTART_APPLICATION = "RESTART_APP"
    RESET = "RESET_GPU"
    RESTART_MACHINE = "RESTART_VM"
    RESTART_NODE = "RESTART_BM"
    CHECK_BOARD = "CHECK_MECHANICALS"
    CHECK_MEMORY = "CHECK_UVM"
    CHECK_LINK = "WORKFLOW_NVLINK_ERR"
    CHECK_LINK_5 = "WORKFLOW_NVLINK5_ERR"
    UPDATE = "UPDATE_SWFW"
    SUPPORT = "CONTACT_SUPPORT"
    DOUBLE_BIT = "WORKFLOW_XID_48"
    AS_BEFORE = "WORKFLOW_XID_45"
    AS_DRIVER_ASKS = "XID_154"


class Later(StrEnum):
    """What is to be looked into afterwards, by the catalogue's word for it."""

    NOTHING = "IGNORE"
    SUPPORT = "CONTACT_SUPPORT"
    APPLICATION = "CHECK_APP/CUDA"
    ACCESS = "WORKFLOW_XID_13, WORKFLOW_XID_31, XID_137_FLOW"
    SOFTWARE = "INVESTIGATE_SW"
    LINK_USE = "INVESTIGATE_SW_USER"
    LINK_SIGNAL = "INVESTIGATE_LINK_SI"
    COMPANION = "IGNORE (sympathetic)"
    ALONE = "SYMPATHETIC_REPORT_SOLO"


CHANGES_NOTHING = frozenset(
    {Action.NOTHING, Action.RESTART_APPLICATION, Action.AS_BEFORE, Action.AS_DRIVER_ASKS},
)
"""After these the GPU itself needs nothing, or what it needs is told otherwise."""

_ACTIONS = {
    Action.NOTHING: "Nothing has to be done at once.",
    Action.RESTART_APPLICATION: "Restart the application that met it; the GPU needs nothing.",
    Action.RESET: "Take the pods off the GPU and reset it (nvidia-smi --gpu-reset).",
    Action.RESTART_MACHINE: "Restart the virtual machine that uses the GPU.",
    Action.RESTART_NODE: "Drain the node and restart it.",
    Action.CHECK_BOARD: "See that the board sits firmly and that its power cables are plugged in.",
    Action.CHECK_MEMORY: "Where unified memory (UVM) was in use, take the pods off the GPU and reset it.",
    Action.CHECK_LINK: "Reset the GPU or restart the node, and look at the link and at the GPU or switch at its end.",
    Action.CHECK_LINK_5: "Look at the details in the kernel's log: where they say fatal, reset the GPU.",
    Action.UPDATE: "Bring driver, vGPU software and firmware to versions that fit each other.",
    Action.SUPPORT: "Ask the vendor's support.",
    Action.DOUBLE_BIT: "Take the pods off the GPU and reset it; with XID 63 or 64 beside it, let them end first.",
    Action.AS_BEFORE: "Do what the XID before it needs; where there was none, restart the fabric manager.",
    Action.AS_DRIVER_ASKS: "Do what the driver's recovery action says; it sums up the XIDs before.",
}

_LATER = {
    Later.NOTHING: "",
    Later.SUPPORT: "If it comes back, ask the vendor's support.",
    Later.APPLICATION: "If it comes back, look for the fault in the application and its CUDA libraries.",
    Later.ACCESS: "If it comes back, run the application under Compute Sanitizer or cuda-gdb.",
    Later.SOFTWARE: "If it comes back, look for a known fault of the driver's version.",
    Later.LINK_USE: "If it comes back, find out who takes the link down.",
    Later.LINK_SIGNAL: "If it comes back, look at the link's cables and connectors.",
    Later.COMPANION: "It comes with another XID, which says more.",
    Later.ALONE: "If no other XID came with it, ask the vendor's support.",
}

_NO_ACTION = "NVIDIA's catalogue names no action for it: look at the kernel's log (dmesg) and ask the vendor's support."


@dataclass(frozen=True, slots=True, kw_only=True)
class Xid:
    """What is known of one number. `action` is None where the catalogue names none."""

    name: str
    action: Action | None = None
    later: Later = Later.NOTHING

    @property
    def changes_nothing(self) -> bool:
        """Whether the catalogue sees no need to keep work off the GPU."""
        return self.action in CHANGES_NOTHING


def xid_text(number: int) -> str:
    """Return an XID for a person: its number and, where it is known, its name."""
    return f"XID {number} ({XIDS[number].name})" if number in XIDS else f"XID {number}"


def xid_advice(number: int) -> str:
    """Return what helps after an XID, in whole sentences; also that there is nothing to be found about it."""
    known = XIDS.get(number)
    if known is None or known.action is None:
        return _NO_ACTION
    return f"{_ACTIONS[known.action]} {_LATER[known.later]}".rstrip()


def _engines(name: str, numbers: Iterable[int]) -> Iterator[tuple[int, Xid]]:
    """Give the XIDs of the engines of one kind, in the order of the engines."""
    for engine, number in enumerate(numbers):
        yield number, Xid(name=f"{name} {engine} error", action=Action.RESTART_APPLICATION, later=Later.SUPPORT)


def _rows(*rows: tuple[int, str, Action, Later]) -> Iterator[tuple[int, Xid]]:
    for number, name, action, later in rows:
        yield number, Xid(name=name, action=action, later=later)


_ENGINES = (
    *_engines("Copy engine", (39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136))),
    *_engines("Video decoder", (68, 83, 84, 88, 89, 96, 97, 98)),
    *_engines("JPEG engine", (82, *range(99, 106))),
    *_engines("Optical flow engine", (86, 139)),
)

_SINGLE = _rows(
    (8, "GPU stopped processing", Action.RESTART_APPLICATION, Later.SUPPORT),
    (11, "Invalid push buffer stream", Action.RESTART_APPLICATION, Later.APPLICATION),
    (13, "Graphics engine exception", Action.RESTART_APPLICATION, Later.ACCESS),
    (25, "Illegal push buffer stream", Action.RESTART_APPLICATION, Later.APPLICATION),
    (31, "GPU memory page fault", Action.RESTART_APPLICATION, Later.ACCESS),
    (32, "Invalid or corrupted push buffer stream", Action.RESTART_APPLICATION, Later.APPLICATION),
    (37, "Unknown request to the driver's firmware", Action.NOTHING, Later.APPLICATION),
    (38, "Driver firmware error", Action.NOTHING, Later.SUPPORT),
    (43, "GPU stopped processing for one application", Action.NOTHING, Later.SUPPORT),
    (44, "Graphics engine fault during context switch", Action.NOTHING, Later.SUPPORT),
    (45, "Preemptive cleanup after earlier errors", Action.AS_BEFORE, Later.NOTHING),
    (46, "GPU stopped processing, timed out", Action.RESET, Later.SUPPORT),
    (48, "Double bit ECC error", Action.DOUBLE_BIT, Later.NOTHING),
    (54, "Auxiliary power is not connected", Action.CHECK_BOARD, Later.SUPPORT),
    (60, "Security processor exception", Action.RESTART_APPLICATION, Later.SOFTWARE),
    (62, "Internal micro-controller halt", Action.RESET, Later.SUPPORT),
    (63, "ECC page retirement or row remapping recorded", Action.NOTHING, Later.NOTHING),
    (64, "ECC page retirement or row remapping failed", Action.RESET, Later.SUPPORT),
    (66, "Illegal access by the driver", Action.NOTHING, Later.SOFTWARE),
    (67, "Illegal access by the driver", Action.NOTHING, Later.SUPPORT),
    (69, "Graphics engine class error", Action.RESTART_APPLICATION, Later.APPLICATION),
    (74, "NVLink error", Action.CHECK_LINK, Later.SUPPORT),
    (78, "vGPU start error", Action.UPDATE, Later.NOTHING),
    (79, "GPU has fallen off the bus", Action.RESTART_NODE, Later.SUPPORT),
    (80, "Corrupted data sent to the GPU", Action.RESTART_APPLICATION, Later.APPLICATION),
    (92, "High rate of single bit ECC errors", Action.NOTHING, Later.SUPPORT),
    (93, "InfoROM written too often", Action.NOTHING, Later.SUPPORT),
    (94, "Contained ECC error", Action.RESTART_APPLICATION, Later.COMPANION),
    (95, "Uncontained ECC error", Action.RESET, Later.COMPANION),
    (106, "Test message of the board's management", Action.NOTHING, Later.NOTHING),
    (107, "Silent test message of the board's management", Action.NOTHING, Later.NOTHING),
    (109, "Context switch timed out", Action.RESET, Later.SUPPORT),
    (110, "Security fault", Action.RESET, Later.SOFTWARE),
    (119, "GSP firmware call timed out", Action.RESET, Later.SOFTWARE),
    (120, "GSP firmware error", Action.RESET, Later.SOFTWARE),
    (121, "Chip-to-chip NVLink error", Action.NOTHING, Later.SUPPORT),
    (136, "Link training failed", Action.RESET, Later.LINK_SIGNAL),
    (137, "NVLink FLA privilege error", Action.NOTHING, Later.ACCESS),
    (140, "Unrecovered ECC error", Action.RESET, Later.SUPPORT),
    (141, "CUDA fast path error", Action.NOTHING, Later.SUPPORT),
    (142, "Video encoder 3 error", Action.SUPPORT, Later.NOTHING),
    (143, "GPU initialization failed", Action.RESET, Later.SUPPORT),
    (144, "NVLink SAW error", Action.CHECK_LINK_5, Later.NOTHING),
    (145, "NVLink RLW error", Action.CHECK_LINK_5, Later.NOTHING),
    (146, "NVLink TLW error", Action.CHECK_LINK_5, Later.NOTHING),
    (147, "NVLink TREX error", Action.CHECK_LINK_5, Later.NOTHING),
    (148, "NVLink NVLPW control error", Action.CHECK_LINK_5, Later.NOTHING),
    (149, "NVLink NETIR error", Action.CHECK_LINK_5, Later.NOTHING),
    (150, "NVLink MSE error", Action.CHECK_LINK_5, Later.NOTHING),
    (151, "Key rotation error", Action.RESTART_MACHINE, Later.SUPPORT),
    (152, "Deep learning accelerator memory error", Action.NOTHING, Later.SUPPORT),
    (153, "Deep learning accelerator timed out", Action.NOTHING, Later.SUPPORT),
    (154, "GPU recovery action changed", Action.AS_DRIVER_ASKS, Later.NOTHING),
    (155, "NVLink taken down by software", Action.RESET, Later.LINK_USE),
    (156, "Resource retirement event", Action.RESET, Later.NOTHING),
    (157, "Resource retirement failed", Action.NOTHING, Later.SUPPORT),
    (158, "Fatal time-out of the GPU", Action.RESET, Later.SUPPORT),
    (159, "Chip-to-chip protocol error", Action.CHECK_MEMORY, Later.ALONE),
    (160, "Memory channel retirement event", Action.NOTHING, Later.SOFTWARE),
    (161, "Memory channel retirement failed", Action.NOTHING, Later.SOFTWARE),
)

_WITHOUT_ACTION = {
    56: "Display engine error",
    57: "Error programming the video memory interface",
    58: "Unstable video memory interface",
    61: "Internal micro-controller breakpoint or warning",
    65: "Video processor exception",
    81: "VGA subsystem error",
    122: "SPI flash read failure",
    123: "SPI flash write failure",
    162: "Power smoothing works again",
    163: "Power smoothing stopped",
    164: "Power smoothing nears the end of its life",
    165: "Power smoothing is worn out",
    166: "NVLink encryption error",
    167: "PCI Express timed out",
    168: "Less GPU memory than there should be",
    169: "Security processor halt",
    170: "Other error of an encrypted NVLink",
    171: "Uncorrectable error in the GPU's memory",
    172: "Uncorrectable error in the GPU's caches",
}

XIDS: Mapping[int, Xid] = dict(
    sorted([*_ENGINES, *_SINGLE, *((number, Xid(name=name)) for number, name in _WITHOUT_ACTION.items())])
)
"""Every number that is known, in order."""
