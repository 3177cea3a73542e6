"""A directory for PATH with the tools that MPS needs, which behave as a test says."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

_SOURCES = {"nvidia-cuda-mps-control": "mps_control.py", "nvidia-smi": "nvidia_smi.py"}
_SERVER = "import time\ntime.sleep(120)\n"


class MpsTools:
    """`nvidia-cuda-mps-control`, `nvidia-cuda-mps-server` and `nvidia-smi` as real executables."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.directory.mkdir()
        # Isolated, and without site: these start many times.
        shebang = f"#!{sys.executable} -IS\n"
        for name, source in _SOURCES.items():
            self._install(name, shebang + (Path(__file__).parent / source).read_text("utf-8"))
        self._install("nvidia-cuda-mps-server", shebang + _SERVER)
        (directory / "control-journal").touch()
        self.control("healthy")
        self.smi("healthy")
        self.compute_modes = {}

    @property
    def path(self) -> str:
        """What PATH has to be."""
        return f"{self.directory}:{os.environ['PATH']}"

    def control(self, mode: str) -> None:
        """Let the control program behave otherwise from now on."""
        (self.directory / "control-mode").write_text(mode, "utf-8")

    def smi(self, mode: str) -> None:
        """Let nvidia-smi behave otherwise from now on."""
        (self.directory / "smi-mode").write_text(mode, "utf-8")

    @property
    def compute_modes(self) -> dict[str, str]:
        """The compute modes that were set, by UUID."""
        modes: dict[str, str] = json.loads((self.directory / "compute-modes").read_text("utf-8"))
        return modes

    @compute_modes.setter
    def compute_modes(self, modes: dict[str, str]) -> None:
        (self.directory / "compute-modes").write_text(json.dumps(modes), "utf-8")

    @property
    def journal(self) -> list[dict[str, Any]]:
        """Everything that happened, in order."""
        return [json.loads(line) for line in (self.directory / "control-journal").read_text("utf-8").splitlines()]

    @property
    def starts(self) -> list[dict[str, str]]:
        """The environments that daemons were started with."""
        return [entry["start"] for entry in self.journal if "start" in entry]

    @property
    def pids(self) -> list[int]:
        """The processes of all daemons, and of their servers, in the order of their start."""
        return [entry["daemon"] for entry in self.journal if "daemon" in entry]

    def have_ended(self) -> bool:
        """Whether daemons were started and none of them runs any more, nor a server of theirs."""
        return bool(self.pids) and not any(map(is_running, self.pids))

    def lines(self, resource: str = "") -> list[str]:
        """Return what daemons were told, except questions for their health; of one resource where one is named."""
        told = [entry for entry in self.journal if "line" in entry and f"/{resource}" in entry["pipe"]]
        return [entry["line"] for entry in told if not entry["line"].startswith("get_")]

    @property
    def hanging(self) -> list[str]:
        """The UUIDs for which nvidia-smi has begun to hang."""
        file = self.directory / "smi-hangs"
        return file.read_text("utf-8").split() if file.exists() else []

    def remove(self, name: str) -> None:
        """Take a program away."""
        (self.directory / name).unlink()

    def close(self) -> None:
        """End every daemon."""
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _install(self, name: str, text: str) -> None:
        file = self.directory / name
        file.write_text(text, "utf-8")
        file.chmod(0o755)


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False
