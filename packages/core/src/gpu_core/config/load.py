"""One program's configuration and settings from its command line, its environment and its config file.

`load` is what a program calls at start, and `Loaded.reload` on SIGHUP: the same arguments, the file read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from gpu_core.config.build import build_config, build_settings
from gpu_core.config.effective import document
from gpu_core.config.file.decode import Parsed, parse_text
from gpu_core.config.file.document import MAX_BYTES
from gpu_core.config.layers import DEFAULT_ORIGIN, Layer, Origin, Source, key_path, union
from gpu_core.config.model import Config
from gpu_core.config.problems import Problem
from gpu_core.config.programs.flags import CommandLine, read_flags
from gpu_core.config.programs.given import environment_layer, flag_layer
from gpu_core.config.programs.options import Program
from gpu_core.config.rules import judge_config, judge_entries, judge_settings, judge_words, without_custom_resources
from gpu_core.errors import ConfigError
from gpu_core.files import is_unnamed_pipe, read_given

S = TypeVar("S")

_CONFIG_FILE = ("--config-file",)
_STRICT = ("--config-strict",)
_MOST_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Generic[S]):
    """Everything a program was told.

    `layer` holds each value that was given, with its origin. `config_text_digest` is the SHA-256 of the config file's
    bytes in hexadecimal, of nothing when there is no file. `refused` is what `raise_refused` raises. `environ` may hold
    secrets and is not shown.
    """

    program: Program[S]
    config: Config
    settings: S
    layer: Layer
    warnings: tuple[str, ...]
    config_text_digest: str
    line: CommandLine
    environ: Mapping[str, str] = field(repr=False)
    refused: tuple[Problem, ...] = ()

    @property
    def file(self) -> str:
        """The config file, empty without one."""
        return _file_of(self.layer, self.program)

    def given(self, name: str) -> bool:
        """Whether a key (`flags.gfd.outputFile`) or a flag (`--node-name`) was given anywhere."""
        return self.origin(name) != DEFAULT_ORIGIN

    def origin(self, name: str) -> Origin:
        """Return where the value of a key or a flag comes from."""
        path = (name,) if name.startswith("--") else key_path(name)
        return self.layer[path].origin if path in self.layer else DEFAULT_ORIGIN

    def effective(self, mig_resources: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        """Return the document for the log line at start; see `gpu_core.config.effective.document`."""
        return document(self.layer, self.program, mig_resources)

    def raise_refused(self) -> None:
        """Raise ConfigError for what this program refuses only after it has logged its configuration."""
        if self.refused:
            raise config_error(self.refused, self.file)

    def reload(self) -> Loaded[S]:
        """Load again from the same command line and environment; raises as `load` does.

        A config that came through a pipe cannot be read again, which is an error too: nothing is left in it.
        """
        return load_line(self.program, self.line, self.environ, again=True)


def load(program: Program[S], argv: Sequence[str], environ: Mapping[str, str]) -> Loaded[S]:
    """Return what a program was told by its flags, its variables and its config file.

    `argv` is without the program's name. Raises UsageError for a malformed command line, ConfigError with every problem
    of file, variables and flags otherwise.
    """
    return load_line(program, read_flags(program.options, argv), environ)


def load_line(program: Program[S], line: CommandLine, environ: Mapping[str, str], *, again: bool = False) -> Loaded[S]:
    """Do what `load` does with a command line that was taken apart already, or `again` what `Loaded.reload` does."""
    from_flags, flag_problems = flag_layer(line)
    from_environment, environment_problems = environment_layer(program.options, environ)
    outside = union(from_environment, from_flags)
    file = _file_of(outside, program)
    parsed, digest = read_config_file(file, again=again) if file else (Parsed(), hashlib.sha256(b"").hexdigest())
    merged = union(parsed.layer, outside)

    layer, ignored = without_custom_resources(merged, parsed.positions)
    problems = parsed.problems + environment_problems + flag_problems + judge_words(layer, program, parsed.positions)
    if problems.errors:
        raise config_error(problems.errors, file)
    config = build_config(layer)
    settings = build_settings(layer, program.options, program.settings)
    problems = problems + judge_config(config, layer, program) + judge_settings(settings, program.options) + ignored
    problems = problems + judge_entries(config, parsed.positions)
    if _STRICT in outside and outside[_STRICT].value:
        problems = problems.strict()
    if problems.errors:
        raise config_error(problems.errors, file)
    return Loaded(
        program=program,
        config=config,
        settings=settings,
        layer=layer,
        warnings=_shown(problems.warnings),
        config_text_digest=digest,
        line=line,
        environ=dict(environ),
        refused=problems.late,
    )


def config_file(program: Program[Any], line: CommandLine, environ: Mapping[str, str]) -> str:
    """Return the config file that a program would read, which nobody else needs to be right for; empty for none."""
    options = tuple(option for option in program.options if option.path == _CONFIG_FILE)
    texts = tuple((option, given) for option, given in line.texts if option in options)
    layer = union(environment_layer(options, environ)[0], flag_layer(CommandLine(texts=texts))[0])
    return _file_of(layer, program)


def read_config_file(file: str, *, again: bool = False) -> tuple[Parsed, str]:
    """Read and parse a config file; return it with the SHA-256 of its bytes.

    Raises ConfigError when it cannot be read, or not `again`; what is wrong inside is in the result.
    """
    if again and is_unnamed_pipe(Path(file)):
        raise ConfigError(
            f"The config file {file} is a pipe, which can be read once only. Restart with another config, or name a "
            "regular file, which can be read again."
        )
    try:
        # One byte more than allowed is enough to see that there is too much.
        data = read_given(Path(file), most=MAX_BYTES + 1)
    except IsADirectoryError as error:
        raise ConfigError(f"The config file {file} is a directory; name a file in it.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"The config file {file} cannot be read: {reason}.") from error
    return parse_text(data, file), hashlib.sha256(data).hexdigest()


def config_error(errors: Sequence[Problem], file: str) -> ConfigError:
    """Return one error that tells all problems, and that those must be mended which they are problems of."""
    configuration = f"the configuration in {file}" if file else "the configuration"
    parts = {Source.FILE: configuration, Source.FLAG: "the command line", Source.ENVIRONMENT: "the environment"}
    found = {problem.source for problem in errors}
    *first, last = (part for source, part in parts.items() if source in found)
    subject = f"{', '.join(first)} and {last}" if first else last
    count = f"{len(errors)} problem{'s' if len(errors) > 1 else ''} found."
    return ConfigError(f"{subject[:1].upper()}{subject[1:]} cannot be used: {count}", _shown(errors))


def _file_of(layer: Layer, program: Program[Any]) -> str:
    """Return the config file that was named, empty without one."""
    return str(layer[_CONFIG_FILE].value) if program.reads_config and _CONFIG_FILE in layer else ""


def _shown(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Return one line per problem; of a broken file's thousands only the first."""
    more = len(problems) - _MOST_SHOWN
    lines = tuple(str(problem) for problem in problems[:_MOST_SHOWN])
    return (*lines, f"and {more} more") if more > 0 else lines
