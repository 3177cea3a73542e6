"""The words by which `nvidia-smi topo -m` calls the ways between two GPUs, and what they mean. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_core.devices.model import LinkLevel, PairLink

LEVEL_WORDS = {
    LinkLevel.INTERNAL: "INT",
    LinkLevel.SINGLE: "PIX",
    LinkLevel.MULTIPLE: "PXB",
    LinkLevel.HOSTBRIDGE: "PHB",
    LinkLevel.NODE: "NODE",
    LinkLevel.SYSTEM: "SYS",
}

UNKNOWN = "?"
NVLINKS = "NV#"
"""Stands for every number of NVLinks."""

_DIRECTLY = "joined directly by that many NVLinks"
_SWITCHED = "joined through NVSwitches by that many NVLinks of each"

_MEANINGS = {
    "INT": "on one board",
    "PIX": "below one PCIe switch",
    "PXB": "across several PCIe switches, below one host bridge",
    "PHB": "across one PCIe host bridge, typically the CPU's",
    "NODE": "across host bridges of one NUMA node",
    "SYS": "across NUMA nodes",
    UNKNOWN: "not known, since one of the two does not answer",
}
"""What each word means, from near to far."""


def link_word(link: PairLink) -> str:
    """Return the word for the way from one GPU to another."""
    if link.joined_by:
        return f"NV{link.joined_by}"
    return UNKNOWN if link.level is None else LEVEL_WORDS[link.level]


def legend(links: Iterable[PairLink]) -> tuple[tuple[str, str], ...]:
    """Return the words for these ways with what they mean, from near to far; of others nothing is said."""
    links = tuple(links)
    words = {link_word(link) for link in links}
    nvlinks = [
        (NVLINKS, meaning)
        for meaning, there in (
            (_DIRECTLY, any(link.nvlinks for link in links)),
            (_SWITCHED, any(link.switched for link in links)),
        )
        if there
    ]
    return (*nvlinks, *((word, meaning) for word, meaning in _MEANINGS.items() if word in words))
