"""The command line of the MPS control daemon."""

from __future__ import annotations

import os
import sys

from gpu_core.command import run_program
from gpu_core.config.programs import MPS_CONTROL_DAEMON
from mps_control_daemon.mount_shm import MOUNT_SHM
from mps_control_daemon.serve import run


def main() -> None:
    """Run the program named on the command line."""
    sys.exit(run_program(MPS_CONTROL_DAEMON, sys.argv[1:], os.environ, run, subcommands=[MOUNT_SHM]))
