"""Where the machine's own files are seen: `/`, or a directory that stands for it in tests and in simulations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The directories that hold the machine's `/sys`, `/proc`, `/dev` and everything else."""

    root: Path = Path("/")

    def path(self, absolute: str) -> Path:
        """Return where an absolute path of the machine is seen."""
        return self.root / absolute.lstrip("/")
