"""A kubelet's device side for tests and the demo: it speaks the real API on real sockets and remembers everything.

    with Kubelet(directory) as kubelet:
        ...                                             # start a plugin with --kubelet-socket=kubelet.socket
        kubelet.log.wait_for(Listed, resource="nvidia.com/gpu")
        grant = kubelet.admit("nvidia.com/gpu", 2)      # preferred allocation, then Allocate, as for a pod

What happened is a log of frozen events, and waiting for one of them replaces every sleep. How the kubelet
treats a plugin that registers is a `Behaviour`, which may change at any time.
"""

from __future__ import annotations

from gpu_demo.kubelet.containers import NotEnoughDevicesError
from gpu_demo.kubelet.log import (
    DialFailed,
    Event,
    EventLog,
    Listed,
    Refused,
    Registered,
    Started,
    Stopped,
    StreamEnded,
    StreamOpened,
)
from gpu_demo.kubelet.model import Behaviour, Grant, ListedDevice, Options, Registers
from gpu_demo.kubelet.service import Kubelet

__all__ = [
    "Behaviour",
    "DialFailed",
    "Event",
    "EventLog",
    "Grant",
    "Kubelet",
    "Listed",
    "ListedDevice",
    "NotEnoughDevicesError",
    "Options",
    "Refused",
    "Registered",
    "Registers",
    "Started",
    "Stopped",
    "StreamEnded",
    "StreamOpened",
]
