"""Where labels can go, one module for each destination."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Output(Protocol):
    """A destination of labels."""

    @property
    def place(self) -> str:
        """Where the labels go, for messages."""

    def publish(self, labels: Mapping[str, str]) -> None:
        """Make these the labels, and no others of ours. Raises PublishError or ClusterError."""

    def withdraw(self) -> None:
        """Take back what does not outlive the program. Raises PublishError."""
