"""What a program says to who has typed it: answers on standard output, complaints on standard error.

An output may be closed, full, read by nobody any more, or of another character set.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import textwrap
from typing import TextIO

from gpu_core.errors import OutputError


def tell(text: str) -> None:
    r"""Write an answer to standard output at once. Raises OutputError when it does not arrive.

    Characters that the output's encoding lacks are written as `\xNN` or `\uNNNN`. A reader that left early, as `head`
    does, has seen what it wanted: that is no error.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError("Standard output is closed, so the answer cannot be written; open it, or redirect it.")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _give_up(stream)
    except OSError as error:
        _give_up(stream)
        raise OutputError(f"The answer cannot be written to standard output: {error.strerror or error}.") from error


def complain(text: str) -> None:
    """Write to standard error what keeps a program from its work: the last that is read, so folded on a terminal."""
    width = _width(sys.stderr)
    lines = text.splitlines()
    if width is not None:
        lines = [part for line in lines for part in _folded(line, width)]
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def _width(stream: TextIO) -> int | None:
    """Return how many characters a line of a terminal holds; None for what is no terminal or does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


def _folded(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    more = f"{indent}  "
    # Whole words only: a path or a flag is to be copied.
    return textwrap.wrap(
        line, width, subsequent_indent=more, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [""]


def _give_up(stream: TextIO) -> None:
    # What is left in the buffer would be written when Python ends, and fail again, with a traceback.
    with contextlib.suppress(OSError):
        stream.close()
