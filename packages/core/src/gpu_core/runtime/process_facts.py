"""What the kernel knows about our own process, as numbers."""

from __future__ import annotations

import os
import time
from pathlib import Path

from gpu_core.runtime.counters import Counters
from gpu_core.runtime.metrics import CPU, FILES, MEMORY, STARTED

_RESIDENT = 1
_START = 19
"""Field 22 of /proc/<pid>/stat, counted from what follows the program's name."""


def count_process(counters: Counters, proc: Path = Path("/proc/self")) -> None:
    """Set the numbers as they are now; what cannot be read is left away."""
    counters.set(CPU, time.process_time())
    try:
        pages = int((proc / "statm").read_text().split()[_RESIDENT])
        counters.set(MEMORY, float(pages * os.sysconf("SC_PAGE_SIZE")))
        counters.set(FILES, float(len(os.listdir(proc / "fd"))))  # noqa: PTH208  Only their number is wanted.
        # The program's name stands in brackets and may hold anything, blanks and brackets included.
        ticks = int((proc / "stat").read_text().rpartition(")")[2].split()[_START])
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        counters.set(STARTED, round(time.time() - since_boot, 2))
    except (OSError, ValueError, IndexError):
        return
