"""How MPS control daemons are asked, and what their answers mean.

`nvidia-cuda-mps-control` reads commands from its standard input and passes them to the daemon of the pipe directory
that its environment names. It ends with 0 once the daemon has answered, even where the answer is a refusal in words.
"""

from __future__ import annotations

import re

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


def illness(returncode: int, stdout: str, stderr: str) -> str | None:
    """Return what is wrong with a daemon that answered the health question so; None when all is well."""
    refused = refusal(returncode, stdout, stderr)
    if refused is not None:
        return f"it does not answer: {refused}"
    try:
        plausible = 0 <= float(stdout.strip()) <= 100
    except ValueError:
        plausible = False
    return None if plausible else f"it gave an answer that makes no sense: {stdout.strip()[:80]!r}"
