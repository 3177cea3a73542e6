"""Lets the processes of unprivileged containers reach the pipes of MPS on hosts with SELinux."""

from __future__ import annotations

import os
from pathlib import Path

from gpu_core.errors import MpsError

CONTEXT = "system_u:object_r:container_file_t:s0"
"""The label of files that any container may use."""

_ATTRIBUTE = "security.selinux"


def relabel(directory: Path, sys_root: Path) -> None:
    """Label a directory and all that is in it, where SELinux is on; raise MpsError when that is refused."""
    if not (sys_root / "fs" / "selinux").exists():
        return
    for path in (directory, *sorted(directory.rglob("*"))):
        try:
            os.setxattr(path, _ATTRIBUTE, CONTEXT.encode() + b"\0", follow_symlinks=False)
        except FileNotFoundError:
            # Pipes come and go with the daemon.
            continue
        except OSError as error:
            raise MpsError(
                f"{path} cannot be labelled {CONTEXT}: {error.strerror}. Run the daemon's container privileged."
            ) from error
