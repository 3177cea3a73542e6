"""What helps against what is wrong with a GPU or MIG device, in whole sentences for a person. Pure.

XIDs have their own in `catalogue`.
"""

from __future__ import annotations

from typing import assert_never

from gpu_core.devices.backend import RecoveryAction

SILENT = (
    "Look for the GPU in nvidia-smi and for its messages in the kernel's log (dmesg): one that fell off the bus, or "
    "hangs, needs the node restarted."
)
UNWATCHED = (
    "It is tried again by itself. If it lasts, look at the driver with nvidia-smi and in the kernel's log (dmesg), "
    "then restart the plugin's pod."
)
UNREADABLE = (
    "It is read again by itself. If it lasts, look at it with nvidia-smi: if that fails too, reset the GPU or restart "
    "the node."
)
UNSHAREABLE = "Look at the log of the MPS control daemon's pod, which tells what its daemon does."
UNCHECKED = "It is looked at soon, and healthy once the driver reports its events."
UNKNOWN = "Look for it with nvidia-smi; if it was removed on purpose, nothing has to be done."


def after_asking(action: RecoveryAction) -> str:
    """Return what the driver wants done before a GPU is used again."""
    match action:
        case RecoveryAction.NONE:
            return "The driver asks for nothing."
        case RecoveryAction.RESET:
            return "Take the pods off the GPU and reset it (nvidia-smi --gpu-reset)."
        case RecoveryAction.BUS_RESET:
            return (
                "Take the pods off the GPU and reset it on its PCI bus; where that is not possible, restart the node."
            )
        case RecoveryAction.REBOOT | RecoveryAction.SYSTEM_REBOOT:
            return "Drain the node and restart it."
        case RecoveryAction.DRAIN_P2P:
            return "Take off the pods whose GPUs reach each other (peer to peer), so that the link can be reset."
        case RecoveryAction.DRAIN_AND_RESET:
            return "Let the pods on the GPU end, give it no new ones, and reset it then."
        case RecoveryAction.RECOVER_IMEX_DOMAIN:
            return "Recover the IMEX domain: restart nvidia-imex on all of its nodes."
        case RecoveryAction.UNKNOWN:
            return "The driver asks for what this plugin does not know; nvidia-smi -q tells what it is."
    assert_never(action)
