"""Where MPS daemons, the device plugin and containers meet: one directory of the host, and what lies in it."""

from __future__ import annotations

from dataclasses import dataclass

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
