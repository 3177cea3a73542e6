"""Programs that are killed, as by kill -9, at a chosen one of the moments at which they touch a directory.

Python tells of every file that it opens, renames, links or removes before it does so. A run that is killed at the
first such moment, one at the second, and so on until one comes to its end, have died in every state that there is.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

KILLED = -signal.SIGKILL

# What takes long is imported once; each run is a child of its own.
_RUNNER = """
import importlib, json, os, signal, sys

def die_at(moment, directory):
    left = moment
    def told(event, arguments):
        nonlocal left
        if event.partition(".")[0] not in ("open", "os"):
            return
        for argument in arguments:
            if isinstance(argument, (str, bytes, os.PathLike)) and os.fsdecode(argument).startswith(directory):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return
    sys.addaudithook(told)

def run(argv, environ, moment, directory):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = argv
    if moment is not None:
        die_at(moment, directory)
    # Of use to those that serve until they are told to end, and were not killed.
    signal.alarm(60)
    try:
        main()
    except SystemExit as end:
        sys.stderr.flush()
        os._exit(end.code or 0)

module, *others = sys.argv[1:]
main = importlib.import_module(module).main
for other in others:
    importlib.import_module(other)
for line in sys.stdin:
    print(json.dumps(run(**json.loads(line))), flush=True)
"""


class Runs:
    """Runs a program again and again."""

    def __init__(self, runner: subprocess.Popen[str]) -> None:
        self._runner = runner

    def run(self, *argv: str, environ: Mapping[str, str], directory: Path, moment: int | None = None) -> int:
        """Run it to its end, or to a moment, counted from 0, at which it is killed; return its exit code, or KILLED."""
        assert self._runner.stdin is not None
        assert self._runner.stdout is not None
        asked = {"argv": argv, "environ": dict(environ), "moment": moment, "directory": str(directory)}
        self._runner.stdin.write(json.dumps(asked) + "\n")
        self._runner.stdin.flush()
        return int(self._runner.stdout.readline())


@contextmanager
def runs_of(module: str, *imports: str) -> Iterator[Runs]:
    """Give runs of the program whose `main` is in a module; `imports` are modules that it would import later."""
    command: Sequence[str] = [sys.executable, "-c", _RUNNER, module, *imports]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as runner:
        yield Runs(runner)
