"""The table of options: what a flag or a variable is called, what it sets and how it explains itself.

An option either sets a key of the config file, whose type, default and documentation it takes from the model, or a
setting of its program that has no place in the file, declared by `setting()` on the program's settings dataclass.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Generic, TypeVar

from gpu_core.config.duration import Duration
from gpu_core.config.layers import KeyPath, dotted, key_path
from gpu_core.config.shape import Form, Leaf, Words, at

S_co = TypeVar("S_co", covariant=True)


class Group(StrEnum):
    """Under which heading an option is listed."""

    CONFIGURATION = "Configuration"
    DEVICES = "Devices"
    CONTAINERS = "What containers get"
    KUBELET = "Kubelet"
    LABELS = "Labels"
    CLUSTER = "Cluster"
    SELECTION = "Choosing a config"
    SIMULATION = "Simulated hardware"
    OPERATION = "Logs and metrics"
    COMMAND = "Options"
    """What a subcommand takes besides the program's own options, beside `--help`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a program.

    `name` is the flag without dashes, empty for what only a variable can set. `key` is the path in the config file, or
    None for a setting, which is then named by `attribute`. `default` is what holds when nothing is given.
    """

    name: str
    aliases: tuple[str, ...]
    variables: tuple[str, ...]
    form: Form
    words: Words | None
    key: KeyPath | None
    attribute: str
    default: Any
    doc: str
    group: Group
    ours: bool
    required: bool = False

    @property
    def path(self) -> KeyPath:
        """The option's place in a layer: its key, or the flag or variable itself for a setting."""
        if self.key is not None:
            return self.key
        return (f"--{self.name}",) if self.name else (self.variables[0],)

    @property
    def names(self) -> tuple[str, ...]:
        """Every flag name, the main one first."""
        return (self.name, *self.aliases) if self.name else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program(Generic[S_co]):
    """One program's command line: its names, its options and the dataclass of its own settings.

    `subcommands` are the names of what it does besides its service; each answers and ends. `sections` are the parts of
    the config file that the program obeys; wrong words elsewhere are warnings to it.
    `discovery` holds the words of deviceDiscoveryStrategy that it can follow. `advertises` tells that it works with
    the kubelet's resources. Wrong words under `late` paths are refused only after the configuration was logged, as the
    original does.
    """

    name: str
    commands: tuple[str, ...]
    title: str
    doc: str
    options: tuple[Option, ...]
    settings: type[S_co]
    examples: tuple[tuple[str, str], ...]
    subcommands: tuple[str, ...]
    sections: tuple[KeyPath, ...] = ()
    discovery: tuple[str, ...] = ()
    advertises: bool = False
    late: tuple[KeyPath, ...] = ()

    @property
    def reads_config(self) -> bool:
        """Whether the program has a config file at all."""
        return bool(self.sections)

    def obeys(self, path: tuple[str | int, ...]) -> bool:
        """Whether the program obeys what the config file says at that path."""
        return any(path[: len(section)] == section for section in self.sections)

    def option_for(self, path: KeyPath) -> Option | None:
        """Return the option that sets a path, if there is one."""
        return next((option for option in self.options if option.path == path), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    flag: str
    variables: tuple[str, ...]
    doc: str
    group: Group
    aliases: tuple[str, ...]
    ours: bool
    required: bool


def setting(
    flag: str,
    variables: Sequence[str],
    doc: str,
    *,
    default: Any,
    group: Group,
    aliases: Sequence[str] = (),
    ours: bool = False,
    required: bool = False,
) -> Any:
    """Declare a field of a settings dataclass together with its flag and its variables."""
    declared = _Setting(
        flag=flag,
        variables=tuple(variables),
        doc=doc,
        group=group,
        aliases=tuple(aliases),
        ours=ours,
        required=required,
    )
    return field(default=default, metadata={"setting": declared})


def for_key(name: str, path: str, variables: Sequence[str], group: Group, *, aliases: Sequence[str] = ()) -> Option:
    """Return an option that sets a key of the config file."""
    key = key_path(path)
    leaf = at(key)
    if not isinstance(leaf, Leaf):
        raise TypeError(f"{dotted(key)} is no single value")
    return Option(
        name=name,
        aliases=tuple(aliases),
        variables=tuple(variables),
        form=leaf.form,
        words=leaf.words,
        key=key,
        attribute=leaf.attribute,
        default=leaf.default,
        doc=leaf.key.doc,
        group=group,
        ours=leaf.key.ours,
    )


def for_settings(settings: type[Any]) -> tuple[Option, ...]:
    """Return the options that a settings dataclass declares, in the order of its fields."""
    hints = typing.get_type_hints(settings)
    options = []
    for declared in fields(settings):
        meta: _Setting = declared.metadata["setting"]
        form, words = _form(hints[declared.name])
        options.append(
            Option(
                name=meta.flag,
                aliases=meta.aliases,
                variables=meta.variables,
                form=form,
                words=words,
                key=None,
                attribute=declared.name,
                default=declared.default,
                doc=meta.doc,
                group=meta.group,
                ours=meta.ours,
                required=meta.required,
            )
        )
    return tuple(options)


_SETTING_FORMS: dict[Any, Form] = {
    str: Form.TEXT,
    str | None: Form.TEXT,
    bool: Form.BOOLEAN,
    int: Form.INTEGER,
    float: Form.NUMBER,
    Duration: Form.DURATION,
    tuple[str, ...]: Form.TEXTS,
}


def _form(hint: Any) -> tuple[Form, Words | None]:
    if hint in _SETTING_FORMS:
        return _SETTING_FORMS[hint], None
    # What remains is a word, one that may be missing, or a tuple of words.
    word = next(part for part in (hint, *typing.get_args(hint)) if isinstance(part, type) and issubclass(part, StrEnum))
    return (Form.WORDS if typing.get_origin(hint) is tuple else Form.WORD), word
