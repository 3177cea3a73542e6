"""Answers on standard output that may be closed, full, read by nobody any more, or of another character set."""

from __future__ import annotations

import contextlib
import io
import sys
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


def _give_up(stream: TextIO) -> None:
    # What is left in the buffer would be written when Python ends, and fail again, with a traceback.
    with contextlib.suppress(OSError):
        stream.close()
