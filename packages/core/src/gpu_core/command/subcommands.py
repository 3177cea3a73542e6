"""What a subcommand is: a name, what it takes, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpu_core.config.build import build_settings
from gpu_core.config.layers import union
from gpu_core.config.load import Loaded, config_error, load_line
from gpu_core.config.programs.flags import CommandLine
from gpu_core.config.programs.given import environment_layer, flag_layer
from gpu_core.config.programs.options import Option, Program, for_settings
from gpu_core.config.rules import judge_setting_words, judge_settings
from gpu_core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One call of a subcommand.

    `arguments` are its positional arguments. The flags of the program are accepted too, before and after the
    subcommand's name; `load` turns them, the environment and the config file into what the program itself would run
    with. `own_settings` gives the subcommand's own flags as the dataclass that declares them.
    """

    program: Program[Any]
    subcommand: Subcommand
    line: CommandLine
    arguments: tuple[str, ...]
    environ: Mapping[str, str]

    def load(self) -> Loaded[Any]:
        """Load the configuration as the program would; raises as `gpu_core.config.load.load` does."""
        own = {option.path for option in self.subcommand.options}
        texts = tuple((option, given) for option, given in self.line.texts if option.path not in own)
        return load_line(self.program, CommandLine(texts=texts), self.environ)

    def own_settings(self) -> Any:
        """Return the subcommand's own settings. Raises ConfigError."""
        if self.subcommand.settings is None:
            raise TypeError(f"{self.subcommand.name} declares no settings")
        options = self.subcommand.options
        flags, flag_problems = flag_layer(
            CommandLine(texts=tuple((option, texts) for option, texts in self.line.texts if option in options))
        )
        variables, variable_problems = environment_layer(options, self.environ)
        layer = union(variables, flags)
        problems = variable_problems + flag_problems + judge_setting_words(layer, options)
        if problems.errors:
            raise config_error(problems.errors, "")
        settings = build_settings(layer, options, self.subcommand.settings)
        missing = judge_settings(settings, options)
        if missing.errors:
            raise config_error(missing.errors, "")
        return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """A subcommand of a program.

    `arguments` names the positional arguments, each needed once; one in brackets, `[FILE]`, may be left away, and one
    with bars, `generate|list`, is a choice of words. `settings` is a dataclass of `setting()` fields for
    flags of its own. `run` returns the exit code.
    """

    name: str
    doc: str
    run: Callable[[Invocation], int]
    arguments: tuple[str, ...] = ()
    settings: type[Any] | None = None
    examples: tuple[tuple[str, str], ...] = ()
    options: tuple[Option, ...] = field(init=False)

    def __post_init__(self) -> None:
        options = for_settings(self.settings) if self.settings is not None else ()
        object.__setattr__(self, "options", options)

    def checked_arguments(self, given: tuple[str, ...]) -> tuple[str, ...]:
        """Return the positional arguments, or raise UsageError when some are missing or too many."""
        missing = " and ".join(
            name.replace("|", " or ") for name in self.arguments[len(given) :] if not name.startswith("[")
        )
        if missing:
            raise UsageError(f"{self.name} needs {missing}; see {self.name} --help")
        if len(given) > len(self.arguments):
            raise UsageError(f"{self.name} does not take {given[len(self.arguments)]!r}; see {self.name} --help")
        return given
