"""A second destination for clusters in which the first does not exist, or not yet."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_cluster import InvalidError, NotFoundError
from gpu_feature_discovery.outputs import Part
from gpu_feature_discovery.outputs.later import Later


class FallbackOutput:
    """Publishes to `first`, and to `second` for as long as the cluster does not know the first, or cannot hold it."""

    def __init__(self, first: Part, second: Part, *, later: Later) -> None:
        self._first = first
        self._second = second
        self._later = later
        self._active = first

    @property
    def place(self) -> str:
        """Where the labels went last."""
        return self._active.place

    @property
    def parts(self) -> tuple[Part, ...]:
        """The two."""
        return (self._first, self._second)

    @property
    def active(self) -> Part:
        """The one that the labels went to last."""
        return self._active

    def publish(self, labels: Mapping[str, str]) -> None:
        """Try the first destination from time to time, so that labels move there once it exists."""
        if self._later.is_due():
            try:
                self._first.publish(labels)
            except (NotFoundError, InvalidError) as error:
                self._later.failed(error, f"{error} Until then the labels go to {self._second.place}.")
            else:
                self._later.done()
                self._active = self._first
                return
        self._second.publish(labels)
        self._active = self._second

    def withdraw(self) -> None:
        """Take back what either holds and must not outlive the program."""
        self._first.withdraw()
        self._second.withdraw()
