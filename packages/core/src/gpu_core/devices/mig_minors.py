"""The driver's list of MIG capabilities: which device node under /dev/nvidia-caps opens which instance.

Its lines are such as `gpu0/gi3/access 30` and `gpu0/gi3/ci0/access 31`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MIG_MINORS_FILE = "/proc/driver/nvidia-caps/mig-minors"

_LINE = re.compile(r"(gpu\d+/gi\d+(?:/ci\d+)?/access) (\d+)")


def parse_mig_minors(text: str) -> dict[str, int]:
    """Return the minor number of each instance's node; lines of another form are left out."""
    matches = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: int(match[2]) for match in matches if match is not None}


def instance_minors(
    minors: Mapping[str, int], gpu_minor: int, gpu_instance: int, compute_instance: int
) -> tuple[int, int] | None:
    """Return the minors of a GPU instance and its compute instance; None unless both are listed."""
    outer = minors.get(f"gpu{gpu_minor}/gi{gpu_instance}/access")
    inner = minors.get(f"gpu{gpu_minor}/gi{gpu_instance}/ci{compute_instance}/access")
    return None if outer is None or inner is None else (outer, inner)
