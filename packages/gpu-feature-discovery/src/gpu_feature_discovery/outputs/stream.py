"""Labels on standard output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gpu_core.config.words import LabelFormat
from gpu_core.errors import PublishError
from gpu_feature_discovery.formats import render


class Stream(Protocol):
    """The part of a text stream that is used here."""

    def write(self, text: str, /) -> int:
        """Write a text. Raises OSError."""

    def flush(self) -> None:
        """Let go of what is held back. Raises OSError."""


class StreamOutput:
    """Writes all labels to a stream each time they are published."""

    place = "standard output"
    feeds_nfd = False
    grace = 0.0

    def __init__(self, stream: Stream | None, form: LabelFormat) -> None:
        self._stream = stream
        self._form = form

    @property
    def parts(self) -> tuple[StreamOutput, ...]:
        """Itself."""
        return (self,)

    @property
    def active(self) -> StreamOutput:
        """Itself."""
        return self

    def publish(self, labels: Mapping[str, str]) -> None:
        """Write the labels, sorted."""
        if self._stream is None:
            raise PublishError("The labels cannot be written, because standard output is closed; open or redirect it.")
        try:
            self._stream.write(render(labels, self._form))
            self._stream.flush()
        except OSError as error:
            raise PublishError(f"The labels cannot be written to standard output: {error.strerror}.") from error

    def withdraw(self) -> None:
        """Leave what was written."""

    def take_back(self, inherited: Mapping[str, str], *, known: bool) -> bool:  # noqa: ARG002  nothing can be
        """Leave what was written."""
        return False
