"""Commands in namespaces of their own: mounts, or process ids, that nobody else sees."""

from __future__ import annotations

import os
import subprocess

import pytest


def unshared(*kinds: str) -> list[str]:
    """Return what to put before a command so that it runs in new namespaces of these kinds, as in `mount`.

    Skips the test, by name, on a machine where that is not allowed.
    """
    command = ["unshare", *(f"--{kind}" for kind in kinds), "--fork", "--kill-child"]
    if os.geteuid() != 0:
        command.append("--map-root-user")
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if not allowed:
        pytest.skip(f"a namespace of one's own ({', '.join(kinds)}) is not allowed here")
    return command
