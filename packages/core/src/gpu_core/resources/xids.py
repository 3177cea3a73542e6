"""XIDs, the driver's error numbers: which of them make a device sick.

The numbers and their names are those of NVIDIA's XID catalogue. docs/reference/xids.md is the table for people.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.model import Health

IGNORED_BY_DEFAULT = frozenset({13, 31, 43, 45, 68, 109})
"""Faults of an application: the next one may use the GPU."""

_NAMES = {
    8: "GPU stopped processing",
    13: "Graphics engine exception",
    31: "GPU memory page fault",
    32: "Invalid or corrupted push buffer stream",
    38: "Driver firmware error",
    43: "GPU stopped processing for one application",
    44: "Graphics engine fault during context switch",
    45: "Preemptive cleanup after earlier errors",
    46: "GPU stopped processing, timed out",
    48: "Double bit ECC error",
    54: "Auxiliary power is not connected",
    56: "Display engine error",
    57: "Error programming the video memory interface",
    58: "Unstable video memory interface",
    60: "Video processor error",
    61: "Internal micro-controller breakpoint or warning",
    62: "Internal micro-controller halt",
    63: "ECC page retirement or row remapping recorded",
    64: "ECC page retirement or row remapping failed",
    65: "Video processor exception",
    66: "Illegal access by the driver",
    67: "Illegal access by the driver",
    68: "Video processor exception",
    69: "Graphics engine class error",
    74: "NVLink error",
    78: "vGPU start error",
    79: "GPU has fallen off the bus",
    80: "Corrupted data sent to the GPU",
    81: "VGA subsystem error",
    92: "High rate of single bit ECC errors",
    94: "Contained ECC error",
    95: "Uncontained ECC error",
    109: "Context switch timed out",
    110: "Security fault",
    119: "GSP firmware call timed out",
    120: "GSP firmware error",
    121: "Chip-to-chip NVLink error",
    122: "SPI flash read failure",
    123: "SPI flash write failure",
    136: "Link training failed",
    137: "NVLink FLA privilege error",
    140: "Unrecovered ECC error",
    143: "GPU initialization failed",
    144: "NVLink SAW error",
    145: "NVLink RLW error",
    146: "NVLink TLW error",
    147: "NVLink TREX error",
    148: "NVLink NVLPW control error",
    149: "NVLink NETIR error",
    150: "NVLink MSE error",
    151: "Key rotation error",
    154: "GPU recovery action changed",
    155: "NVLink software-defined error",
    156: "Resource retirement event",
    157: "Resource retirement failed",
    158: "Fatal time-out of the GPU",
}
_WORDS_FOR_ALL = frozenset({"all", "xids"})
_LARGEST = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class XidPolicy:
    """Which XIDs make a device sick.

    `always` do, whatever else is said, and all of them do with `always_all`. Of the others those in `ignored` do not,
    and none does with `ignored_all`.
    """

    always: frozenset[int] = frozenset()
    always_all: bool = False
    ignored: frozenset[int] = IGNORED_BY_DEFAULT
    ignored_all: bool = False

    def is_fatal(self, xid: int) -> bool:
        """Whether an XID makes its device sick."""
        if self.always_all or xid in self.always:
            return True
        return not self.ignored_all and xid not in self.ignored

    @property
    def checks_nothing(self) -> bool:
        """Whether no XID can make a device sick, which turns health checks off altogether."""
        return self.ignored_all and not self.always_all and not self.always


def xid_policy(health: Health, *, disable: str | None, enable: str | None) -> tuple[XidPolicy, tuple[str, ...]]:
    """Combine the config's XIDs with DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS; return warnings, too.

    What is enabled wins over what is disabled, the variables over the config file, that over the defaults.
    """
    disabled, disabled_all, first_warnings = _listed("DP_DISABLE_HEALTHCHECKS", disable)
    enabled, enabled_all, second_warnings = _listed("DP_ENABLE_HEALTHCHECKS", enable)
    ignored = (IGNORED_BY_DEFAULT.union(health.ignored_xids)).difference(health.fatal_xids)
    policy = XidPolicy(
        always=enabled,
        # The original marks "all" by the number 0, so enabling XID 0 enables everything there, and scripts may rely on
        # it. Disabling 0 disabled everything, which nobody can want; here it concerns XID 0 alone.
        always_all=enabled_all or 0 in enabled,
        ignored=ignored | disabled,
        ignored_all=disabled_all,
    )
    return policy, first_warnings + second_warnings


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


def xid_text(xid: int) -> str:
    """Return an XID for a person: its number and, where it is known, its name."""
    return f"XID {xid} ({_NAMES[xid]})" if xid in _NAMES else f"XID {xid}"
