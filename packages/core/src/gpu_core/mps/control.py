"""How MPS control daemons are asked, and what their answers mean.

`nvidia-cuda-mps-control` reads commands from its standard input and passes them to the daemon of the pipe directory
that its environment names. It ends with 0 once the daemon has answered, even where the answer is a refusal in words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CONTROL = "nvidia-cuda-mps-control"
"""The program, which is also the daemon."""

HEALTH_QUESTION = "get_default_active_thread_percentage"
"""A question that a working control daemon answers without side effect."""

_COMPLAINT = re.compile(r"\b(cannot|error|fail(ed|ure)?|invalid|unknown|denied)\b", re.IGNORECASE)


def refusal(returncode: int, stdout: str, stderr: str) -> str | None:
    """Return in what words a daemon, or the program that asks it, failed; None when it did not."""
    if returncode == 0 and _COMPLAINT.search(f"{stdout}\n{stderr}") is None:
        return None
    said = stderr.strip() or stdout.strip()
    return said.splitlines()[-1].rstrip(".") if said else f"exit code {returncode}"


def unanswered(returncode: int, stdout: str, stderr: str) -> str | None:
    """Return what is wrong with a daemon that answered the health question so; None when it answered."""
    refused = refusal(returncode, stdout, stderr)
    if refused is not None:
        return f"it does not answer: {refused}"
    try:
        plausible = 0 <= float(stdout.strip()) <= 100
    except ValueError:
        plausible = False
    return None if plausible else f"it gave an answer that makes no sense: {stdout.strip()[:80]!r}"


CONTAINER_ROOT = "/mps"
"""Where the shared MPS directory is mounted in our own containers and in those of clients."""


@dataclass(frozen=True, slots=True)
class MpsRoot:
    """The layout of the shared directory, below `path` as seen by whoever asks."""

    path: str

    def pipe(self, resource: str) -> str:
        """Directory of the control pipe of a resource's daemon."""
        return self._below(resource, "pipe")

    def log(self, resource: str) -> str:
        """Directory of the daemon's logs."""
        return self._below(resource, "log")

    def started(self, resource: str) -> str:
        """File that exists while the daemon of a resource runs, and tells what it runs with."""
        return self._below(resource, ".started")

    @property
    def shm(self) -> str:
        """The tmpfs that servers and clients share as /dev/shm."""
        return self._below("shm")

    @property
    def ready(self) -> str:
        """File that exists, holding the plan's digest, while every daemon of the plan runs."""
        return self._below(".ready")

    @property
    def compute_modes(self) -> str:
        """File that remembers the compute modes found before we changed them, for after a crash."""
        return self._below(".compute-modes.json")

    def environment(self, resource: str) -> dict[str, str]:
        """Return the variables under which the daemon of a resource is reached."""
        return {"CUDA_MPS_LOG_DIRECTORY": self.log(resource), "CUDA_MPS_PIPE_DIRECTORY": self.pipe(resource)}

    def _below(self, *parts: str) -> str:
        return "/".join([self.path.rstrip("/"), *parts])
