"""The few questions to libcuda that a Tegra chip's GPU has to be asked, as its NVML knows too little."""

from __future__ import annotations

from typing import Protocol

from gpu_core.devices.model import Fault


class Cuda(Protocol):
    """What is asked. Every answer may be a fault instead, named after the C function."""

    def init(self) -> Fault | None:
        """Start CUDA; None when that worked."""

    def driver_version(self) -> tuple[int, int] | Fault:
        """Return the CUDA version, (major, minor)."""

    def count(self) -> int | Fault:
        """Return how many GPUs there are."""

    def name(self, index: int) -> str | Fault:
        """Return a GPU's product name."""

    def memory(self, index: int) -> int | Fault:
        """Return a GPU's memory in bytes."""

    def compute_capability(self, index: int) -> tuple[int, int] | Fault:
        """Return (major, minor)."""


class MissingCuda:
    """Answers where libcuda cannot be loaded."""

    _fault = Fault(call="cuInit", code="LIBRARY_NOT_FOUND")

    def init(self) -> Fault | None:
        """Return why CUDA cannot be started."""
        return self._fault

    def driver_version(self) -> tuple[int, int] | Fault:
        """Return why there is no version."""
        return self._fault

    def count(self) -> int | Fault:
        """Return why GPUs cannot be counted."""
        return self._fault

    def name(self, index: int) -> str | Fault:  # noqa: ARG002  Its answer is the same for every GPU.
        """Return why there is no name."""
        return self._fault

    def memory(self, index: int) -> int | Fault:  # noqa: ARG002
        """Return why there is no figure."""
        return self._fault

    def compute_capability(self, index: int) -> tuple[int, int] | Fault:  # noqa: ARG002
        """Return why there is none."""
        return self._fault
