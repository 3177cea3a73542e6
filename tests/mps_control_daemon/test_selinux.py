"""Labels of SELinux."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpu_core.errors import MpsError
from mps_control_daemon.daemon import CONTAINER_FILES, relabel


def test_without_selinux_nothing_is_labelled(tmp_path: Path) -> None:
    relabel(tmp_path / "missing", tmp_path / "sys")


def test_with_selinux_everything_in_the_directory_is_labelled(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/selinux").mkdir(parents=True)
    pipe = tmp_path / "pipe"
    (pipe / "deep").mkdir(parents=True)
    (pipe / "deep/control").touch()
    try:
        relabel(pipe, tmp_path / "sys")
    except MpsError as error:
        # The kernel of this machine, or its file system, does not take labels.
        assert str(error) == (  # noqa: PT017  Which of the two it is, nobody can choose.
            f"{pipe} cannot be labelled {CONTAINER_FILES}: {error.__cause__.strerror}. "  # type: ignore[union-attr]
            "Run the daemon's container privileged."
        )
        pytest.skip(str(error))
    for path in (pipe, pipe / "deep", pipe / "deep/control"):
        assert os.getxattr(path, "security.selinux") == CONTAINER_FILES.encode() + b"\0"
