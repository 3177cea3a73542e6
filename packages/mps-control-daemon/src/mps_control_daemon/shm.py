"""How the shared memory is mounted through which MPS servers and their clients talk.

The tmpfs is mounted by an init container into the host's directory with Bidirectional propagation, so that the
daemon's container and every client's see the same memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FALLBACK_SIZE = "65536k"
"""Size of the tmpfs where the machine's memory is unknown: 64 MiB, what container runtimes give /dev/shm."""

_OPTIONS = "rw,nosuid,nodev,noexec,relatime"
_MOUNT_POINT = 4
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmPlan:
    """What is run: as many unmounts as there are mounts, lazily where one is busy, then one mount."""

    unmounts: int
    unmount: tuple[str, ...]
    unmount_lazily: tuple[str, ...]
    mount: tuple[str, ...]


def shm_size(meminfo: str) -> str:
    """Return half of MemTotal from the text of /proc/meminfo, in the unit given there (`32768000k`)."""
    match = re.search(r"^MemTotal:\s*(\d+)(?:\s+(\w))?", meminfo, re.MULTILINE)
    if match is None:
        return FALLBACK_SIZE
    return f"{int(match[1]) // 2}{match[2] or ''}"


def mounts_at(directory: str, mountinfo: str) -> int:
    """Return how many file systems are mounted on top of each other at a directory, from /proc/self/mountinfo."""
    places = (line.split(" ") for line in mountinfo.splitlines())
    return sum(len(place) > _MOUNT_POINT and _unescape(place[_MOUNT_POINT]) == directory for place in places)


def plan_shm(directory: str, *, meminfo: str, mountinfo: str) -> ShmPlan:
    """Return what mounts the shared memory at `directory`, an absolute path without links, whatever was left there."""
    return ShmPlan(
        unmounts=mounts_at(directory, mountinfo),
        unmount=("umount", directory),
        unmount_lazily=("umount", "--lazy", directory),
        mount=("mount", "-t", "tmpfs", "-o", f"{_OPTIONS},size={shm_size(meminfo)}", "shm", directory),
    )


def _unescape(path: str) -> str:
    """Return a path of mountinfo, in which blanks and the like are written as octal numbers."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), path)
