"""The command line that all programs share: flags, subcommands, help, errors and exit codes."""

from gpu_core.command.run import run_program
from gpu_core.command.subcommands import Invocation, Subcommand
from gpu_core.command.tell import complain, tell

__all__ = ["Invocation", "Subcommand", "complain", "run_program", "tell"]
