"""A second destination for clusters in which the first does not exist, or not yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_cluster import NotFoundError
from gpu_feature_discovery.outputs import Output


class FallbackOutput:
    """Publishes to `first`, and to `second` for as long as the cluster does not know the first."""

    def __init__(self, first: Output, second: Output, *, warn: Callable[[str], object]) -> None:
        self._first = first
        self._second = second
        self._warn = warn
        self._fell_back = False

    @property
    def place(self) -> str:
        """Where the labels went last."""
        return (self._second if self._fell_back else self._first).place

    def publish(self, labels: Mapping[str, str]) -> None:
        """Try the first destination each time, so that labels move there once it exists."""
        try:
            self._first.publish(labels)
        except NotFoundError as error:
            self._warn(f"{error} Until then the labels go to {self._second.place}.")
            self._second.publish(labels)
            self._fell_back = True
            return
        if self._fell_back:
            self._second.withdraw()
            self._fell_back = False

    def withdraw(self) -> None:
        """Take back what either holds."""
        self._first.withdraw()
        if self._fell_back:
            self._second.withdraw()
