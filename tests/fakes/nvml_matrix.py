"""The trials of a failing NVML: every call that the plugin makes, every way to fail, each moment and target."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.devices.nodes import node
from gpu_core.devices.simulated.commands import ALL
from gpu_core.devices.simulated.node import SimulatedNode

_A100 = {"model": "A100-SXM4-40GB", "recovery": "none"}
NODES = {
    "whole": node({"gpus": [{**_A100, "count": 4}], "links": {"nvlinks": {"pairs": {"0-1": 2}, "switch": 4}}}),
    "mig": node(
        {
            "gpus": [
                {**_A100, "mig": {"enabled": True, "devices": ["3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"]}},
                {**_A100, "mig": {"enabled": True, "devices": ["1g.5gb x7"]}},
                {**_A100},
            ]
        }
    ),
}

LINKS = frozenset(
    {
        "DeviceGetNvLinkRemoteDeviceType",
        "DeviceGetNvLinkRemotePciInfo",
        "DeviceGetNvLinkState",
        "DeviceGetTopologyCommonAncestor",
    }
)

ASIDE = LINKS | {"EventSetFree", "Shutdown", "SystemGetCudaDriverVersion", "SystemGetDriverVersion"}
"""Calls that may hang without anybody being the worse for it: what they tell is unknown then."""

FACTS = ASIDE | {
    "DeviceGetAddressingMode",
    "DeviceGetBrand",
    "DeviceGetFieldValues",
    "DeviceGetGpuFabricInfo",
    "DeviceGetGpuInstanceProfileInfo",
}
"""Calls without which a GPU serves as well: only that they hang tells that it does not."""

SCANNED = frozenset(
    {
        "DeviceGetAttributes",
        "DeviceGetComputeInstanceId",
        "DeviceGetCudaComputeCapability",
        "DeviceGetGpuInstanceById",
        "DeviceGetGpuInstanceId",
        "DeviceGetHandleByIndex",
        "DeviceGetMaxMigDeviceCount",
        "DeviceGetMigDeviceHandleByIndex",
        "DeviceGetMigMode",
        "DeviceGetMinorNumber",
        "DeviceGetName",
        "DeviceGetPciInfo",
        "DeviceGetUUID",
        "GpuInstanceGetInfo",
    }
)
"""Calls of a scan alone, which sees their failure at once."""

PROBED = frozenset({"DeviceGetMemoryInfo", "DeviceGetSupportedEventTypes", "DeviceRegisterEvents"})
"""Calls that a GPU may answer NOT_SUPPORTED all its life."""

OF_NO_GPU = frozenset(
    {
        "DeviceGetCount",
        "EventSetCreate",
        "EventSetFree",
        "EventSetWait",
        "Init",
        "Shutdown",
        "SystemGetCudaDriverVersion",
        "SystemGetDriverVersion",
    }
)

CALLS = FACTS | SCANNED | PROBED | OF_NO_GPU | {"DeviceGetHandleByUUID"}
"""Every call that the plugin makes."""

CODES = (
    "GPU_IS_LOST",
    "UNKNOWN",
    "NOT_SUPPORTED",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "TIMEOUT",
    "NO_PERMISSION",
    "UNINITIALIZED",
)
KINDS = (
    *(f"fail {code}" for code in CODES),
    *(f"once {code}" for code in CODES),
    "hang once",
    "hang always",
    "late",
    "slow",
)


class Phase(StrEnum):
    """When a call fails.

    Before the start; in a running plugin's next scan, reload, or round of probes; when the driver is opened anew, since
    it has failed as a whole; or when its GPUs are watched anew, since waiting for events has failed.
    """

    START = "start"
    SCAN = "scan"
    RELOAD = "reload"
    ROUND = "round"
    REOPEN = "reopen"
    REWATCH = "rewatch"


_ROUND = PROBED | {"DeviceGetFieldValues", "DeviceGetHandleByUUID", "EventSetWait"}
_SCAN = (
    CALLS
    - PROBED
    - LINKS
    - {"DeviceGetHandleByUUID", "EventSetCreate", "EventSetFree", "EventSetWait", "Init", "Shutdown"}
)
_CALLED: Mapping[Phase, frozenset[str]] = {
    Phase.START: CALLS - {"EventSetFree", "Shutdown"},
    Phase.SCAN: _SCAN,
    Phase.RELOAD: _SCAN,
    Phase.ROUND: _ROUND,
    Phase.REOPEN: CALLS,
    Phase.REWATCH: _ROUND | {"EventSetCreate", "EventSetFree"},
}
"""The calls of each phase that its trials are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What fails, how, when and where."""

    node: str
    phase: Phase
    call: str
    target: str
    kind: str

    def __str__(self) -> str:
        return f"{self.node}, {self.phase}: {self.call} {self.target} {self.kind}"

    @property
    def line(self) -> str:
        """The command that lets it fail."""
        match self.kind.split():
            case ["fail", code]:
                return f"fail {self.call} {self.target} {code}"
            case ["once", code]:
                return f"fail {self.call} {self.target} {code} count=1"
            case ["hang", "once"]:
                return f"hang {self.call} {self.target} inf"
            case ["hang", "always"]:
                return f"slow {self.call} {self.target} inf"
            case ["gone"]:
                return f"remove {self.target}"
            case ["late"]:
                return f"slow {self.call} {self.target} 4"
            case _:
                return f"slow {self.call} {self.target} 0.02"


def trials() -> Iterator[Trial]:
    """Give every trial."""
    for name, phase in itertools.product(NODES, Phase):
        targets = ("0", ALL) if name == "whole" else ("0", "0:1", ALL)
        for target in ("0", ALL):
            yield Trial(node=name, phase=phase, call="", target=target, kind="gone")
        for call in sorted(_CALLED[phase]):
            for target, kind in itertools.product((ALL,) if call in OF_NO_GPU else targets, KINDS):
                yield Trial(node=name, phase=phase, call=call, target=target, kind=kind)


def victims(node: SimulatedNode, target: str) -> frozenset[str]:
    """Return the ids of the devices of a target."""
    found = set()
    for index, gpu in enumerate(node.gpus):
        for mig in gpu.mig_devices:
            if target in (ALL, str(index), f"{index}:{mig.index}"):
                found.add(mig.uuid)
        if not gpu.mig_devices and target in (ALL, str(index)):
            found.add(gpu.uuid)
    return frozenset(found)
