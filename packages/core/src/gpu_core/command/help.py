"""Help and shell completion, written by typer from the option tables.

Values are read elsewhere, by the rules of Go's flag package, which no Python library follows; typer only ever sees a
request for help or for completion. So its import, which costs more time and memory than the reading does, is paid by
those who ask.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer
from typer._completion_classes import BashComplete
from typer.core import TyperCommand, TyperGroup

from gpu_core.command.subcommands import Subcommand
from gpu_core.command.tell import tell
from gpu_core.config.effective import plain
from gpu_core.config.layers import KeyPath, key_path
from gpu_core.config.programs.flags import dashed
from gpu_core.config.programs.options import Option, Program
from gpu_core.config.shape import Form
from gpu_core.devices.simulated.files import describe_nodes
from gpu_core.errors import UsageError

_TYPES: dict[Form, Any] = {
    Form.TEXT: str,
    Form.BOOLEAN: bool,
    Form.INTEGER: int,
    Form.NUMBER: float,
    Form.DURATION: str,
    Form.TEXTS: list[str],
    Form.INTEGERS: list[int],
}
_HOW_FLAGS_ARE_WRITTEN = (
    "Flags take one dash or two, and lists are written with commas or by repeating the flag. A switch is turned off "
    "with =false. An environment variable counts where its flag is not given."
)
_HOW_VALUES_ARE_FOUND = f"{_HOW_FLAGS_ARE_WRITTEN} The config file counts where neither is."
_DISCOVERY = key_path("flags.deviceDiscoveryStrategy")
_VALUES: dict[KeyPath, Callable[[], Sequence[tuple[str, str]]]] = {("--simulated-node",): describe_nodes}
"""What a shell may offer for options that take more than what is offered."""

_METAVARS = {
    Form.TEXT: "TEXT",
    Form.INTEGER: "NUMBER",
    Form.NUMBER: "NUMBER",
    Form.DURATION: "DURATION",
    Form.INTEGERS: "NUMBERS",
    Form.TEXTS: "LIST",
}
# A hyphen at which no line is broken: people copy flags, names and paths out of the help.
_FIRM = "\u2011"
_LONGEST_FIRM = 32


def show_help(program: Program[Any], subcommands: Sequence[Subcommand], chosen: Subcommand | None) -> None:
    """Print the help of a program, or of one of its subcommands, on standard output."""
    words = ["--help"] if chosen is None else [chosen.name, "--help"]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        _command(program, subcommands)(words, prog_name=program.commands[0], standalone_mode=False)
    tell(_hyphenated(text.getvalue()))


def complete(program: Program[Any], subcommands: Sequence[Subcommand], words: Sequence[str], name: str) -> int:
    """Answer a shell's question for completion, or install or show its script, and return the exit code.

    Raises OutputError when the answer does not arrive, UsageError when the script cannot be installed.
    """
    BashComplete.get_completion_args = _words_without_equals  # type: ignore[assignment, method-assign]
    text, code = io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(text):
            _command(program, subcommands, every_flag=True)(list(words), prog_name=name)
    except SystemExit as end:
        # typer ends the program where it is done.
        code = end.code if isinstance(end.code, int) else 0
    except OSError as error:
        place = f" in {error.filename}" if error.filename else ""
        raise UsageError(
            f"Completion cannot be installed{place}: {error.strerror or error}. "
            "--show-completion prints the script, to put where the shell finds it."
        ) from error
    tell(_hyphenated(text.getvalue()))
    return code


def _firm(doc: str) -> str:
    """Keep words with hyphens in one piece until the text is laid out, but for those that would fill a line."""
    return re.sub(r"\S+", lambda word: word[0].replace("-", _FIRM) if len(word[0]) <= _LONGEST_FIRM else word[0], doc)


def _hyphenated(laid_out: str) -> str:
    return laid_out.replace(_FIRM, "-")


_words_of_bash = BashComplete.get_completion_args


def _words_without_equals(bash: BashComplete) -> tuple[list[str], str]:
    """Take `--flag=value` for `--flag value`: bash gives the parts of it, and typer would take `=` for the value."""
    words, unfinished = _words_of_bash(bash)
    return [word for word in words if word != "="], unfinished


def _command(program: Program[Any], subcommands: Sequence[Subcommand], *, every_flag: bool = False) -> Any:
    """Return what typer makes of a program. With `every_flag` its own flags are those of its subcommands too."""
    app = typer.Typer(
        help=f"{program.doc}\n\n{_HOW_VALUES_ARE_FOUND if program.reads_config else _HOW_FLAGS_ARE_WRITTEN}",
        epilog=_epilog(program),
        cls=_GroupWithHeadings,
        # Plain text: the boxes of rich mode cut long flags off, and help is also read in pod logs.
        rich_markup_mode=None,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    options = tuple(_followed(option, program) for option in program.options)
    app.callback()(_signed(options, version=True))
    for subcommand in subcommands:
        prefix = f"{program.commands[0]} "
        describe = app.command(
            subcommand.name,
            cls=_CommandWithHeadings,
            help=f"{_firm(subcommand.doc)}\n\nThe flags of {program.commands[0]} itself count here too.",
            short_help=_firm(subcommand.doc),
            epilog=_examples(subcommand.examples, prefix),
        )
        # In a subcommand's help they would hide its own.
        hidden = {name for option in subcommand.options for name in option.names}
        more = [option for option in options if every_flag and not hidden.intersection(option.names)]
        describe(_signed((*subcommand.options, *more), arguments=subcommand.arguments))
    return typer.main.get_command(app)


def _signed(options: Sequence[Option], *, arguments: Sequence[str] = (), version: bool = False) -> Callable[..., None]:
    """Return a function whose signature is the table of options, which is what typer reads."""

    def asked(**_: object) -> None:
        """Do nothing; typer is only asked for help and completion."""

    parameters = [
        inspect.Parameter(
            f"argument_{position}",  # What people read, such as `generate|list`, is no Python name.
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[str, _argument(name)],
            default=None if name.startswith("[") else inspect.Parameter.empty,
        )
        for position, name in enumerate(arguments)
    ]
    for position, option in enumerate(option for option in options if option.name):
        parameters.append(
            inspect.Parameter(
                f"option_{position}",
                inspect.Parameter.KEYWORD_ONLY,
                annotation=Annotated[_type(option) | None, _declaration(option)],
                default=None,
            )
        )
    if version:
        shown = typer.Option("--version", "-v", help="Show the version and exit.")
        parameters.append(
            inspect.Parameter(
                "version", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[bool, shown], default=False
            )
        )
    asked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    asked.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return asked


def _argument(name: str) -> Any:
    choices = name.split("|") if "|" in name else []
    return typer.Argument(metavar=name.strip("[]"), autocompletion=lambda: choices, show_default=False)


def _declaration(option: Option) -> Any:
    names = [dashed(name) for name in option.names]
    default = default_text(option)
    return typer.Option(
        *names,
        help=_firm(f"{option.doc} Default: {default}." if default else option.doc),
        envvar=list(option.variables) or None,
        metavar=_METAVARS.get(option.form),
        show_default=False,
        autocompletion=_VALUES.get(option.path),
        rich_help_panel=str(option.group),
    )


def _followed(option: Option, program: Program[Any]) -> Option:
    """Return the option with only those words that the program can follow."""
    if option.words is None or option.path != _DISCOVERY:
        return option
    make: Any = StrEnum  # A type checker can follow a literal list of words only.
    return replace(option, words=make("Followed", {word.upper(): word for word in program.discovery}))


def _type(option: Option) -> Any:
    if option.words is not None:
        return list[option.words] if option.form is Form.WORDS else option.words  # type: ignore[name-defined]
    return _TYPES[option.form]


def default_text(option: Option) -> str:
    """Return the default as a person would type it; empty when there is none."""
    default = plain(option.default)
    match default:
        case None | "" | []:
            return ""
        case bool():
            return "true" if default else "false"
        case list():
            return ",".join(str(item) for item in default)
    return f"{default:g}" if isinstance(default, float) else str(default)


def _epilog(program: Program[Any]) -> str:
    silent = [option for option in program.options if not option.name]
    lines = [f"  {option.variables[0]}:\n    {option.doc}" for option in silent]
    variables = "\b\n" + "\n".join(["Variables without a flag:", *lines]) if lines else ""
    return "\n\n".join(part for part in (variables, _examples(program.examples, "")) if part)


def _examples(examples: Sequence[tuple[str, str]], prefix: str) -> str:
    # A line of its own with a backspace tells the formatter to keep the lines below as they are.
    lines = [f"  {text}:\n    {prefix}{line}" for text, line in examples]
    return "\b\n" + "\n".join(["Examples:", *lines]) if lines else ""


class _CommandWithHeadings(TyperCommand):
    """A command whose options are listed under their group's heading."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Write an argument as manual pages do; braces are for a choice."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.strip("{}") if "|" not in piece else piece for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group in the order in which groups first occur."""
        _write_options(self, ctx, formatter)


class _GroupWithHeadings(TyperGroup):
    """The same for a command with subcommands."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the subcommands first: with so many options, nobody would find them at the end."""
        commands = [(name, self.commands[name].short_help or "") for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(commands)
        _write_options(self, ctx, formatter)


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            own = "Arguments" if parameter.param_type_name == "argument" else "Options"
            sections.setdefault(getattr(parameter, "rich_help_panel", None) or own, []).append(record)
    for heading, records in sections.items():
        with formatter.section(heading):
            formatter.write_dl(records)
