"""The words by which `nvidia-smi topo -m` calls the ways between two GPUs, and what they mean. Pure."""

from __future__ import annotations

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

MEANINGS = {
    "NV#": "joined directly by that many NVLink connections",
    "INT": "on one board",
    "PIX": "below one PCIe switch",
    "PXB": "across several PCIe switches, below one host bridge",
    "PHB": "across one PCIe host bridge, typically the CPU's",
    "NODE": "across host bridges of one NUMA node",
    "SYS": "across NUMA nodes",
    UNKNOWN: "not known, since one of the two does not answer",
}
"""What each word means, from near to far; `NV#` stands for every number of NVLinks."""


def link_word(link: PairLink) -> str:
    """Return the word for the way from one GPU to another."""
    if link.nvlinks:
        return f"NV{link.nvlinks}"
    return UNKNOWN if link.level is None else LEVEL_WORDS[link.level]
