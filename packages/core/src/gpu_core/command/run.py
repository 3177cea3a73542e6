"""The start of every program: its command line, its configuration, its exit code and its errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar

from gpu_core.command.check_config import check_config
from gpu_core.command.simulated_nodes import SIMULATED_NODES
from gpu_core.command.subcommands import Invocation, Subcommand
from gpu_core.command.tell import complain, tell
from gpu_core.command.words import ignored_words, refuse_near_miss
from gpu_core.config.load import Loaded, load_line
from gpu_core.config.programs.flags import CommandLine, read_flags
from gpu_core.config.programs.options import Program
from gpu_core.errors import Ending, SuiteError
from gpu_core.runtime.build import build

S = TypeVar("S")

_HELP = "help"

_INTERRUPTED = 130
"""What shells report of a program that SIGINT has ended: 128 and the signal's number."""

_MISTAKE = 1
"""Python's own exit code after an exception that nobody caught."""


def run_program(
    program: Program[S],
    argv: Sequence[str],
    environ: Mapping[str, str],
    main: Callable[[Loaded[S]], int],
    *,
    subcommands: Sequence[Subcommand] = (),
    on_errand: Callable[[], object] = lambda: None,
    name: str = "",
) -> int:
    """Do what a command line asks for and return the exit code.

    `argv` is without the program's name. `main` runs the program itself; a first argument that is the name of a
    subcommand selects that instead. One that almost is such a name is refused; any other argument is ignored, as the
    original ignores it, with a warning. `check-config` is a subcommand of every program, `simulated-nodes` of those
    that read hardware; `on_errand` is called before those or anything else but the program itself is done. `name` is
    what the program was called as, with or without its directory, for completion.
    A SuiteError becomes one message on standard error, and any other exception what Python makes of it.
    """
    shared = (SIMULATED_NODES, check_config(program)) if reads_hardware(program) else (check_config(program),)
    called = PurePosixPath(name).name
    call = _Call(
        program=program,
        name=called if called in program.commands else program.commands[0],
        argv=tuple(argv),
        environ=environ,
        subcommands=(*subcommands, *shared),
    )
    try:
        return _dispatch(call, main, on_errand)
    except Ending:
        return 0
    except SuiteError as error:
        complain(f"{program.commands[0]}: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        # Who pressed the keys knows; long-running programs turn the signal into an event and never get here.
        return _INTERRUPTED
    except Exception:  # noqa: BLE001  It is told here, where nobody waits for standard error.
        sys.excepthook(*sys.exc_info())
        return _MISTAKE


def reads_hardware(program: Program[Any]) -> bool:
    """Whether a program reads a node's GPUs, and so those of a simulated one."""
    return program.option_for(("--simulated-node",)) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One start of a program."""

    program: Program[Any]
    name: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    subcommands: tuple[Subcommand, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that may stand first."""
        return (*(subcommand.name for subcommand in self.subcommands), _HELP)

    def subcommand(self, name: str | None) -> Subcommand | None:
        return next((subcommand for subcommand in self.subcommands if subcommand.name == name), None)


def _dispatch(call: _Call, main: Callable[[Loaded[S]], int], on_errand: Callable[[], object]) -> int:
    shell = _completion_name(call)
    if shell is not None:
        on_errand()
        return _complete(call, shell)
    line = read_flags(call.program.options, call.argv)
    first = line.rest[0] if line.rest and not line.stopped else None
    subcommand = call.subcommand(first)
    if line.help or first == _HELP or line.version or subcommand is not None:
        on_errand()
    if line.help or first == _HELP:
        return _help(call, _asked_about(call, line))
    if line.version:
        return _version(call)
    if subcommand is not None:
        return _run_subcommand(call, line, subcommand)
    if first is not None:
        refuse_near_miss(first, call.words)
    return main(_load(call, line))


def _asked_about(call: _Call, line: CommandLine) -> Subcommand | None:
    """Return the subcommand that `help` is asked about, if that is one."""
    word = next((word for word in line.rest if word != _HELP), None)
    subcommand = call.subcommand(word)
    if word is not None and subcommand is None:
        refuse_near_miss(word, call.words)
    return subcommand


def _load(call: _Call, line: CommandLine) -> Loaded[Any]:
    """Load the program's configuration; what is ignored is told at once, before anything that takes its time."""
    ignored = ignored_words(line, call.words, call.program.commands[0])
    try:
        loaded = load_line(call.program, line, call.environ)
    except SuiteError:
        # There will be no log to tell it in.
        for warning in ignored:
            complain(f"{call.program.commands[0]}: {warning}")
        raise
    if ignored:
        from gpu_core.runtime.logs import configure_by, get_logger  # noqa: PLC0415  It costs as much as a set of labels.

        configure_by(loaded.settings)
        for warning in ignored:
            get_logger().warning(warning)
    return loaded


def _run_subcommand(call: _Call, before: CommandLine, subcommand: Subcommand) -> int:
    # A subcommand's own flag hides one of the program with the same name, also where it stands before the subcommand.
    own = {name: option for option in subcommand.options for name in option.names}
    shared = tuple(option for option in call.program.options if own.keys().isdisjoint(option.names))
    texts = [(own.get(option.name, option), given) for option, given in before.texts]
    arguments: list[str] = []
    rest: tuple[str, ...] = before.rest[1:]
    # Unlike the program itself, a subcommand takes flags on both sides of its arguments.
    while rest:
        line = read_flags((*subcommand.options, *shared), rest)
        if line.help:
            return _help(call, subcommand)
        if line.version:
            return _version(call)
        texts += line.texts
        taken = len(line.rest) if line.stopped else 1
        arguments += line.rest[:taken]
        rest = line.rest[taken:]
    invocation = Invocation(
        program=call.program,
        subcommand=subcommand,
        line=CommandLine(texts=tuple(texts)),
        arguments=subcommand.checked_arguments(tuple(arguments)),
        environ=call.environ,
    )
    return subcommand.run(invocation)


def _completion_name(call: _Call) -> str | None:
    """Return under which name a shell asks for completion, if it does."""
    if call.argv and call.argv[0] in ("--show-completion", "--install-completion"):
        return call.name
    names = call.program.commands
    return next((name for name in names if f"_{name.upper().replace('-', '_')}_COMPLETE" in call.environ), None)


def _complete(call: _Call, name: str) -> int:
    from gpu_core.command.help import complete  # noqa: PLC0415  Only who asks pays for typer.

    return complete(call.program, call.subcommands, call.argv, name)


def _version(call: _Call) -> int:
    facts = build(call.program.commands[0])
    parts = "".join(f"{name} {version}\n" for name, version in facts.distributions)
    tell(f"{call.program.title} version {facts.version}\nPython {facts.python}\n{parts}")
    return 0


def _help(call: _Call, subcommand: Subcommand | None) -> int:
    from gpu_core.command.help import show_help  # noqa: PLC0415  Only who asks pays for typer.

    show_help(call.program, call.subcommands, subcommand)
    return 0
