"""Which config a node gets, from its label, the files there are, a default and fallbacks; and whether it may. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from gpu_core.config.file.decode import parse_text
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
from gpu_core.config.programs.options import Program
from gpu_core.config.rules import judge_words
from gpu_core.config.words import FallbackStrategy

NAMED_FALLBACK = "default"
"""Name of the file that the fallback `named` looks for."""

_READERS: tuple[Program[object], ...] = (DEVICE_PLUGIN, GPU_FEATURE_DISCOVERY, MPS_CONTROL_DAEMON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides besides the label: the config of nodes without one, and what to try without that."""

    label: str
    default: str = ""
    fallbacks: tuple[FallbackStrategy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The file to use, and why in a few words."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenEmpty:
    """The empty config is to be used."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChosen:
    """No config can be used; `problem` is a finished sentence or two: the fact, and the next step."""

    problem: str


Choice = Chosen | ChosenEmpty | NotChosen


def choose(label: str | None, names: Sequence[str], rules: Rules) -> Choice:
    """Choose a config. `label` is None where the node does not carry it; an empty value counts the same.

    `names` are the candidates in the config directory. The label decides; without it the default; without that
    the fallbacks in their order.
    """
    there = frozenset(names)
    if not there:
        return NotChosen(problem="The config directory has no config files. Check that the ConfigMap is mounted there.")
    if label:
        return _named(label, there, f"the node's label {rules.label}", "Add the file or change the label.")
    if rules.default:
        return _named(rules.default, there, "the default config", "Add the file or change the default.")
    tried = []
    for fallback in rules.fallbacks:
        match fallback:
            case FallbackStrategy.NAMED:
                if NAMED_FALLBACK in there:
                    return Chosen(name=NAMED_FALLBACK, why="it has the name that nodes without a label fall back to")
                tried.append(f"{fallback} (there is no file {NAMED_FALLBACK!r})")
            case FallbackStrategy.SINGLE:
                if len(there) == 1:
                    return Chosen(name=next(iter(there)), why="it is the only config there is")
                tried.append(f"{fallback} (there are {len(there)} files: {_listed(there)})")
            case FallbackStrategy.EMPTY:
                return ChosenEmpty(why="there is neither a label nor a default")
            case _:
                assert_never(fallback)
    return NotChosen(
        problem=f"The node has no label {rules.label}, there is no default config, and "
        + (f"no fallback applies: {', '.join(tried)}." if tried else "no fallbacks are configured.")
        + f" Label the node with one of: {_listed(there)}."
    )


def check(content: bytes, file: str, programs: Sequence[str]) -> tuple[str, ...]:
    """Return one finished line for each error in a file, none when it can be handed to the programs.

    What the programs' own flags and variables add is not known here, so this finds what is wrong with the file by
    itself: syntax, types, names, and words that no program or not the signalled one can follow.

    `programs` are the names of those that read it; when none of them is known, all programs are meant.
    """
    parsed = parse_text(content, file)
    errors = [str(problem) for problem in parsed.problems.errors]
    names = {program.rpartition("/")[2] for program in programs}
    readers = [reader for reader in _READERS if names.intersection(reader.commands)] or _READERS
    for reader in readers:
        errors += [str(problem) for problem in judge_words(parsed.layer, reader, parsed.positions).errors]
    return tuple(dict.fromkeys(errors))


def _named(name: str, there: frozenset[str], source: str, next_step: str) -> Choice:
    if name in there:
        return Chosen(name=name, why=f"{source} names it")
    return NotChosen(problem=f"There is no config {name!r}, which {source} names. {next_step} Files: {_listed(there)}.")


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
