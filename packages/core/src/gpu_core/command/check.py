"""A strict judgement on a config file for one program, with every effective value and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_core.config.build import build_config
from gpu_core.config.effective import plain, without_unshared
from gpu_core.config.file.decode import Location, Parsed
from gpu_core.config.layers import DEFAULT_ORIGIN, KeyPath, Layer, Origin, Position, below, dotted, key_path, union
from gpu_core.config.model import Config
from gpu_core.config.problems import Problem, Problems
from gpu_core.config.programs.flags import CommandLine
from gpu_core.config.programs.given import environment_layer, flag_layer
from gpu_core.config.programs.options import Program
from gpu_core.config.rules import judge_config, judge_entries, judge_words, without_custom_resources
from gpu_core.config.shape import Section, at, leaves, shape
from gpu_core.config.words import SharingStrategy
from gpu_core.health.xids import DISABLE, ENABLE, XidPolicy, xid_policy
from gpu_core.resources.list_size import LARGEST_LIST, UUID_BYTES, Row, list_bytes, most_replicas

_HEALTH = key_path("health")
_MPS, _TIME_SLICING = key_path("sharing.mps.resources"), key_path("sharing.timeSlicing.resources")

_MOST_DEVICES = 128
"""More devices than a node has under one name: sixteen GPUs in seven MIG devices each are 112."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """One key with its value in JSON's terms and where that comes from."""

    path: KeyPath
    value: Any
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is wrong with a file, and what it comes to.

    `xids` says which XIDs make a device unhealthy; None where the program watches none, or the file cannot be used.
    """

    problems: Problems
    values: tuple[EffectiveValue, ...]
    xids: XidPolicy | None = None

    @property
    def usable(self) -> bool:
        """Whether a program would start with it under --config-strict."""
        return not self.problems.errors


def check(parsed: Parsed, program: Program[Any], line: CommandLine, environ: Mapping[str, str]) -> Report:
    """Judge a parsed file together with the program's flags and variables, strictly."""
    keys = tuple(option for option in program.options if option.key is not None)
    from_flags, flag_problems = flag_layer(
        CommandLine(texts=tuple((option, texts) for option, texts in line.texts if option in keys))
    )
    from_environment, environment_problems = environment_layer(keys, environ)
    merged = union(parsed.layer, from_environment, from_flags)
    layer, ignored = without_custom_resources(merged, parsed.positions)
    problems = parsed.problems + environment_problems + flag_problems
    problems = problems + judge_words(layer, program, parsed.positions) + ignored
    xids = None
    if not problems.errors:
        config = build_config(layer)
        problems += judge_config(config, layer, program, alone=True)
        problems += judge_entries(config, parsed.positions)
        problems += _judge_lists(config, program, parsed.positions)
        if program.obeys(_HEALTH):
            xids, passed_over = xid_policy(config.health, disable=environ.get(DISABLE), enable=environ.get(ENABLE))
            problems += (Problem(message=message, fatal=False, harmless=True) for message in passed_over)
    strict = Problems(tuple(dict.fromkeys(problems))).in_file_order().strict()
    return Report(problems=strict, values=effective_values(layer), xids=xids)


def effective_values(layer: Layer) -> tuple[EffectiveValue, ...]:
    """Return every key that counts, in the order of the model."""
    layer = without_unshared(layer)
    values = []
    for path, member in leaves(shape()):
        if path in layer:
            given = layer[path]
            values.append(EffectiveValue(path=path, value=plain(given.value), origin=given.origin))
        elif not _is_absent(layer, path):
            default = () if isinstance(member, Section) else member.default
            values.append(EffectiveValue(path=path, value=plain(default), origin=DEFAULT_ORIGIN))
    return tuple(values)


def _is_absent(layer: Layer, path: KeyPath) -> bool:
    """Whether the path lies in an optional section that nothing gives."""
    sections = {path[:depth]: at(path[:depth]) for depth in range(1, len(path))}
    return any(
        isinstance(section, Section) and section.optional and not below(layer, inner)
        for inner, section in sections.items()
    )


def _judge_lists(config: Config, program: Program[Any], positions: Mapping[Location, Position]) -> Problems:
    """Find numbers of replicas that the kubelet would not take in one list, judged without a node.

    What does not fit on one GPU is refused; of what does not fit on every node it is said for how many GPUs it does.
    GPUs are taken to have UUIDs of the usual length and a NUMA node.
    """
    path = _MPS if config.sharing.strategy is SharingStrategy.MPS else _TIME_SLICING
    problems: list[Problem] = []
    for index, entry in config.sharing.entries:
        gpu = Row(id_bytes=UUID_BYTES, numa_node=1, replicas=entry.replicas)
        fits = LARGEST_LIST // list_bytes([gpu])
        if fits >= _MOST_DEVICES:
            continue
        limit = f"the kubelet takes lists of {LARGEST_LIST} bytes"
        gpus = "one GPU or MIG device" if fits == 1 else f"{fits} GPUs or MIG devices"
        message = (
            f"{entry.replicas} replicas fit for at most {gpus} of a node, as {limit}"
            if fits
            else f"{entry.replicas} replicas do not fit even for one GPU, as {limit}; at most {most_replicas([gpu])} do"
        )
        location: Location = (*path, index, "replicas")
        where, position = dotted(location), positions.get(location)
        fatal = not fits and program.obeys(path)
        problems.append(Problem(message=message, where=where, position=position, fatal=fatal, harmless=bool(fits)))
    return Problems(tuple(problems))
