"""What must hold between values once all layers are merged, judged for one program.

A program refuses what it obeys. What only another program obeys is a warning to it, so that one shared file never stops
a program over a key that is none of its business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpu_core.config.build import is_word
from gpu_core.config.file.decode import Location
from gpu_core.config.layers import DEFAULT_ORIGIN, Given, KeyPath, Layer, Origin, Position, Source, dotted, key_path
from gpu_core.config.model import Config
from gpu_core.config.problems import Problem, Problems, shortened
from gpu_core.config.programs.options import Option, Program
from gpu_core.config.shape import Form, Leaf, Section, Words, at
from gpu_core.config.words import MigStrategy, SharingStrategy

_DISCOVERY = key_path("flags.deviceDiscoveryStrategy")
_MIG_STRATEGY = key_path("flags.migStrategy")
_MPS = key_path("sharing.mps.resources")
_TIME_SLICING = key_path("sharing.timeSlicing.resources")
_MPS_ROOT = key_path("flags.mpsRoot")
_PROBE_INTERVAL = key_path("health.probeInterval")
_RESCAN_INTERVAL = key_path("flags.plugin.rescanInterval")
_SLEEP_INTERVAL = key_path("flags.gfd.sleepInterval")
_CHANNELS = key_path("imex.channelIDs")
_VALID_CHANNELS = ((), (0,))


def judge_words(layer: Layer, program: Program[Any], positions: Mapping[Location, Position]) -> Problems:
    """Find every word that does not exist, and every one that this program cannot follow."""
    problems: list[Problem] = []
    for path, given in layer.items():
        option = program.option_for(path)
        if option is not None and option.key is None:
            continue
        member = at(path)
        fatal = program.obeys(path)
        if isinstance(member, Section):
            problems += _entry_words(given.value, member, path, positions, fatal=fatal)
        elif member.words is not None:
            allowed = program.discovery if path == _DISCOVERY else ()
            problem = replace(_problem_at(path, given.origin), fatal=fatal, late=path in program.late)
            problems += _unknown(given.value, member.words, problem, allowed=allowed)
    return Problems(tuple(problems)) + judge_setting_words(layer, program.options)


def judge_setting_words(layer: Layer, options: Sequence[Option]) -> Problems:
    """Find every word that does not exist among settings without a key in the file."""
    problems: list[Problem] = []
    for option in options:
        if option.key is None and option.words is not None and option.path in layer:
            given = layer[option.path]
            words = (given.value,) if option.form is Form.WORD else given.value
            # Charts define variables with empty values; for a setting that means "not given".
            problem = Problem(message="", where=str(given.origin), source=given.origin.source)
            problems += _unknown(tuple(filter(None, words)), option.words, problem)
    return Problems(tuple(problems))


def judge_config(config: Config, layer: Layer, program: Program[Any], *, alone: bool = False) -> Problems:
    """Find values that do not go together.

    `alone` tells that a file is judged without the command line that it will be used with, so that what is missing may
    still be given there.
    """
    problems: list[Problem] = []

    def refuse(path: KeyPath, message: str, *, fatal: bool, harmless: bool = False) -> None:
        problem = _problem_at(path, layer[path].origin if path in layer else DEFAULT_ORIGIN)
        problems.append(replace(problem, message=message, fatal=fatal, harmless=harmless))

    if config.imex.channel_ids not in _VALID_CHANNELS:
        found = list(config.imex.channel_ids)
        refuse(_CHANNELS, f"{found} cannot be injected; only [] and [0] are allowed", fatal=program.obeys(_CHANNELS))
    if config.sharing.strategy is SharingStrategy.MPS and config.sharing.time_slicing is not None:
        refuse(_TIME_SLICING, "is ignored, because sharing.mps is given too", fatal=False, harmless=True)
    if config.sharing.strategy is SharingStrategy.MPS:
        obeys = program.obeys(_MPS)
        if config.flags.mig_strategy is MigStrategy.MIXED:
            message = "MPS cannot share MIG devices; with sharing.mps, the MIG strategy must be none or single"
            refuse(_MIG_STRATEGY, message, fatal=obeys)
        # The control daemon works in its own directory, and gpu-feature-discovery in none.
        if not config.flags.mps_root and program.obeys(_MPS_ROOT):
            message = "sharing.mps needs the directory that daemons and clients share; set --mps-root"
            refuse(_MPS_ROOT, message, fatal=not alone, harmless=alone)
    for path, interval, zero_is_off in (
        (_PROBE_INTERVAL, config.health.probe_interval, False),
        (_RESCAN_INTERVAL, config.flags.plugin.rescan_interval, True),
        (_SLEEP_INTERVAL, config.flags.gfd.sleep_interval, False),
    ):
        off = zero_is_off and not interval.nanoseconds
        if interval.is_too_short and not off and program.obeys(path):
            refuse(path, f"{interval} is too short and counts as 100ms", fatal=False, harmless=True)
    return Problems(tuple(problems))


def judge_entries(config: Config, positions: Mapping[Location, Position]) -> Problems:
    """Find what an entry of a shared resource asks for in vain: devices that it names twice, limits that nobody keeps.

    Only nodes that have the resource cannot be served with the former, so that a program warns and goes on to see
    whether this is one.
    """
    slices = config.sharing.strategy is SharingStrategy.TIME_SLICING
    path = _TIME_SLICING if slices else _MPS
    problems: list[Problem] = []

    def warn(index: int, key: str, message: str) -> None:
        location: Location = (*path, index, key)
        where, position = dotted(location), positions.get(location)
        problems.append(Problem(message=message, where=where, position=position, fatal=False))

    for index, entry in config.sharing.entries:
        named = entry.devices if isinstance(entry.devices, tuple) else ()
        for device, times in Counter(named).items():
            if times > 1:
                warn(index, "devices", f"{device} is named {times} times; name each device once")
        for key, limit in (
            ("memoryLimitMiB", entry.memory_limit_mib),
            ("memoryFactor", entry.memory_factor),
            ("activeThreadPercentage", entry.active_thread_percentage),
        ):
            if slices and limit is not None and (*path, index, key) in positions:
                warn(index, key, "limits nothing: containers that take turns have no limits; sharing.mps has")
    return Problems(tuple(problems))


def judge_settings(settings: object, options: Sequence[Option]) -> Problems:
    """Find settings that must be given and are not."""
    return Problems(
        tuple(
            Problem(
                message=f"is needed; give it a value, or set {option.variables[0]}",
                where=f"--{option.name}",
                source=Source.FLAG,
            )
            for option in options
            if option.required and not getattr(settings, option.attribute)
        )
    )


def _problem_at(path: KeyPath, origin: Origin) -> Problem:
    """Return a problem of a value that came from there, as yet without words."""
    if origin.position is None and origin.name:
        return Problem(message="", where=str(origin), source=origin.source)
    return Problem(message="", where=dotted(path), position=origin.position)


def _entry_words(
    entries: tuple[Mapping[str, Any], ...],
    section: Section,
    path: Location,
    positions: Mapping[Location, Position],
    *,
    fatal: bool,
) -> Iterator[Problem]:
    for index, entry in enumerate(entries):
        for member in section.members:
            if isinstance(member, Leaf) and member.words is not None and member.key.name in entry:
                inner = (*path, index, member.key.name)
                problem = Problem(message="", where=dotted(inner), position=positions.get(inner), fatal=fatal)
                yield from _unknown(entry[member.key.name], member.words, problem)


def _unknown(
    value: str | tuple[str, ...],
    words: Words,
    problem: Problem,
    *,
    allowed: tuple[str, ...] = (),
) -> Iterator[Problem]:
    choices = allowed or tuple(word.value for word in words)
    for word in (value,) if isinstance(value, str) else value:
        if is_word(words, word) and word in choices:
            continue
        message = f"{shortened(word)!r} is not allowed; use {', '.join(choices[:-1])} or {choices[-1]}"
        yield replace(problem, message=message)


CUSTOM_RESOURCES = key_path("flags.customResources")
_PATTERNS = (key_path("resources.gpus"), key_path("resources.mig"))
_SHARED = (key_path("sharing.timeSlicing"), key_path("sharing.mps"))
_HINT = "is ignored, as the original ignores it; flags.customResources: true honours it"


def without_custom_resources(layer: Layer, positions: Mapping[Location, Position]) -> tuple[Layer, Problems]:
    """Return the layer that counts, and a warning for each kind of thing that does not."""
    if CUSTOM_RESOURCES in layer and layer[CUSTOM_RESOURCES].value:
        return layer, Problems()
    kept = {path: given for path, given in layer.items() if path not in _PATTERNS}
    problems = []
    ignored = [path for path in _PATTERNS if path in layer and layer[path].value]
    if ignored:
        problems.append(_warning(ignored[0], positions))
    for section in _SHARED:
        path = (*section, "resources")
        if path not in layer:
            continue
        given = layer[path]
        renaming = (*section, "renameByDefault") in layer and layer[(*section, "renameByDefault")].value
        problems += _ignored_keys(path, given.value, positions, renaming=renaming)
        plain = tuple({key: entry[key] for key in entry if key not in ("rename", "devices")} for entry in given.value)
        kept[path] = Given(value=plain, origin=given.origin)
    return kept, Problems(tuple(problems))


def _ignored_keys(
    path: tuple[str, ...],
    entries: tuple[Mapping[str, Any], ...],
    positions: Mapping[Location, Position],
    *,
    renaming: bool,
) -> list[Problem]:
    problems = []
    for key in ("rename", "devices"):
        for index, entry in enumerate(entries):
            usual = "all" if key == "devices" else f"{entry.get('name')}.shared" if renaming else None
            if key in entry and entry[key] != usual:
                problems.append(_warning((*path, index, key), positions))
                break
    return problems


def _warning(location: Location, positions: Mapping[Location, Position]) -> Problem:
    return Problem(message=_HINT, where=dotted(location), position=positions.get(location), fatal=False, harmless=True)
