"""Labels as text, for programs and for people, and on standard output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, assert_never

from gpu_core.config.words import LabelFormat
from gpu_core.errors import PublishError
from gpu_core.labels import PREFIX

# One of them is among the labels of every node that has any.
_MARKS = frozenset(f"{PREFIX}{name}" for name in ("gfd.timestamp", "gpu.machine", "gpu.count", "vgpu.present"))


def render(labels: Mapping[str, str], form: LabelFormat) -> str:
    """Write labels sorted by key, with a newline at the end unless there is nothing to write.

    Label keys and values hold no character that JSON or YAML would have to escape.
    """
    pairs = sorted(labels.items())
    match form:
        case LabelFormat.LABELS:
            lines = [f"{key}={value}" for key, value in pairs]
        case LabelFormat.JSON:
            rows = ",\n".join(f'  "{key}": "{value}"' for key, value in pairs)
            lines = ["{", rows, "}"] if pairs else ["{}"]
        case LabelFormat.YAML:
            lines = [f'{key}: "{value}"' for key, value in pairs] if pairs else ["{}"]
        case LabelFormat.TABLE:
            lines = _table(pairs)
        case _:
            assert_never(form)
    return "".join(f"{line}\n" for line in lines)


def looks_like_ours(text: str) -> bool:
    """Whether a text is one that `render` gives for labels of ours, or that the original writes."""
    lines = text.splitlines()
    keys = [line.partition("=")[0] for line in lines if "=" in line]
    return len(keys) == len(lines) and all(key.startswith(PREFIX) for key in keys) and not _MARKS.isdisjoint(keys)


def _table(pairs: list[tuple[str, str]]) -> list[str]:
    width = max((len(key) for key, _ in pairs), default=len("LABEL"))
    return [f"{'LABEL':{width}}  VALUE", *(f"{key:{width}}  {value}".rstrip() for key, value in pairs)]


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
