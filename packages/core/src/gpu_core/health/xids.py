"""Which XIDs make which devices unhealthy. What each of them means is in `catalogue`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from gpu_core.config.health import Health
from gpu_core.config.words import XidDefaults
from gpu_core.devices.backend import DeviceEvent, EventKind
from gpu_core.devices.model import Gpu, MigDevice
from gpu_core.health.catalogue import XIDS, xid_advice, xid_text

DISABLE = "DP_DISABLE_HEALTHCHECKS"
ENABLE = "DP_ENABLE_HEALTHCHECKS"

IGNORED_BY_ORIGINAL = frozenset({13, 31, 43, 45, 68, 109})
"""What changes nothing in NVIDIA's own plugin: faults of an application, after which the next one may use the GPU."""

IGNORED_BY_CATALOGUE = frozenset(number for number, xid in XIDS.items() if xid.changes_nothing)
"""What changes nothing by NVIDIA's own catalogue."""

_WORDS_FOR_ALL = frozenset({"all", "xids"})
_LARGEST = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class XidPolicy:
    """Which XIDs make which devices unhealthy.

    `always` do, whatever else is said, and all of them do with `always_all`. Of the others those in `ignored` do not,
    and none does with `ignored_all`.
    """

    always: frozenset[int] = frozenset()
    always_all: bool = False
    ignored: frozenset[int] = IGNORED_BY_ORIGINAL
    ignored_all: bool = False

    def is_fatal(self, xid: int) -> bool:
        """Whether an XID makes its device unhealthy."""
        if self.always_all or xid in self.always:
            return True
        return not self.ignored_all and xid not in self.ignored

    @property
    def checks_nothing(self) -> bool:
        """Whether no XID can make a device unhealthy, which turns health checks off altogether."""
        return self.ignored_all and not self.always_all and not self.always


def xid_policy(health: Health, *, disable: str | None, enable: str | None) -> tuple[XidPolicy, tuple[str, ...]]:
    """Combine the config's XIDs with DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS; return warnings, too.

    What is enabled wins over what is disabled, the variables over the config's lists, these over its `xidPolicy`.
    """
    disabled, disabled_all, first_warnings = _listed(DISABLE, disable)
    enabled, enabled_all, second_warnings = _listed(ENABLE, enable)
    ignored = ignored_by(health.xid_policy).union(health.ignored_xids).difference(health.fatal_xids)
    policy = XidPolicy(
        always=enabled,
        # The original marks "all" by the number 0, so enabling XID 0 enables everything there, and scripts may rely on
        # it. Disabling 0 disabled everything, which nobody can want; here it concerns XID 0 alone.
        always_all=enabled_all or 0 in enabled,
        ignored=ignored | disabled,
        ignored_all=disabled_all,
    )
    return policy, first_warnings + second_warnings


def ignored_by(defaults: XidDefaults) -> frozenset[int]:
    """Return the XIDs that change nothing where nothing else is said."""
    match defaults:
        case XidDefaults.ORIGINAL:
            return IGNORED_BY_ORIGINAL
        case XidDefaults.CATALOGUE:
            return IGNORED_BY_CATALOGUE
    assert_never(defaults)


def policy_text(policy: XidPolicy) -> str:
    """Return the policy in one sentence, with every number that it tells from the others."""
    if policy.checks_nothing:
        return "No XID makes a device unhealthy: health checks are off."
    if policy.always_all:
        return "Every XID makes a device unhealthy."
    if policy.ignored_all:
        return f"XIDs that make a device unhealthy: {_numbers(policy.always)}; every other one changes nothing."
    ignored = policy.ignored - policy.always
    if not ignored:
        return "Every XID makes a device unhealthy."
    return f"XIDs that change nothing: {_numbers(ignored)}; every other one makes a device unhealthy."


def _numbers(xids: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(xids)))


def _listed(variable: str, text: str | None) -> tuple[frozenset[int], bool, tuple[str, ...]]:
    """Return the XIDs of a comma-separated list, whether a word for all is among them, and warnings."""
    items = [item.strip() for item in (text or "").lower().split(",")]
    if not _WORDS_FOR_ALL.isdisjoint(items):
        return frozenset(), True, ()
    numbers = {item: _number(item) for item in items if item}
    malformed = tuple(
        f"{variable}: {item!r} is no XID and is passed over. Write numbers separated by commas, or all."
        for item, number in numbers.items()
        if number is None
    )
    return frozenset(number for number in numbers.values() if number is not None), False, malformed


def _number(item: str) -> int | None:
    # Signs, underscores and foreign digits, which Python would take, are no XIDs. No XID is near 20 digits long.
    if not (item.isascii() and item.isdigit()) or len(item.lstrip("0")) > 20:
        return None
    number = int(item)
    return number if number <= _LARGEST else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which GPUs and MIG devices an event makes unhealthy, by UUID, and in words why, or why none.

    `advice` is what helps, in whole sentences; empty for what is no XID.
    """

    unhealthy: tuple[str, ...] = ()
    reason: str
    advice: str = ""


def verdict(event: DeviceEvent, gpus: Sequence[Gpu], policy: XidPolicy) -> Verdict:
    """Return what an event means for the GPUs of a node.

    Only XIDs that the policy does not ignore make devices unhealthy: all of them when the driver does not say on which
    GPU, those of the GPU and compute instance where it names either, else the GPU and so every part and share of it.
    """
    if event.kind is not EventKind.XID:
        return Verdict(reason=f"{event.kind} events do not change health")
    name, advice = xid_text(event.data), xid_advice(event.data)
    if not policy.is_fatal(event.data):
        return Verdict(reason=f"{name} is ignored", advice=advice)
    if event.gpu_uuid is None:
        return Verdict(
            unhealthy=tuple(gpu.uuid for gpu in gpus),
            reason=f"{name} occurred on a GPU that cannot be told",
            advice=advice,
        )
    gpu = next((gpu for gpu in gpus if gpu.uuid == event.gpu_uuid), None)
    if gpu is None:
        return Verdict(reason=f"{name} occurred on {event.gpu_uuid}, which is not managed here", advice=advice)
    concerns_part = event.gpu_instance is not None or event.compute_instance is not None
    # An instance on a GPU that has none is an event from before it was re-partitioned: caution takes the whole GPU.
    if not concerns_part or not gpu.mig_devices:
        return Verdict(unhealthy=(gpu.uuid,), reason=f"{name} occurred", advice=advice)
    parts = tuple(mig.uuid for mig in gpu.mig_devices if _concerns(event, mig))
    if not parts:
        return Verdict(reason=f"{name} occurred on an instance of {gpu.uuid} that has no MIG device", advice=advice)
    return Verdict(unhealthy=parts, reason=f"{name} occurred on this MIG device", advice=advice)


def _concerns(event: DeviceEvent, mig: MigDevice) -> bool:
    return event.gpu_instance in (None, mig.gpu_instance) and event.compute_instance in (None, mig.compute_instance)
