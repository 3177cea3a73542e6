"""Whether a config file may be handed to the programs. Pure.

What the programs' own flags and variables add is not known here, so this finds what is wrong with the file by
itself: syntax, types, names, and words that no program or not the signalled one can follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_core.config.options import Program
from gpu_core.config.parse import parse_text
from gpu_core.config.programs import DEVICE_PLUGIN, GPU_FEATURE_DISCOVERY, MPS_CONTROL_DAEMON
from gpu_core.config.rules import judge_words

_READERS: tuple[Program[object], ...] = (DEVICE_PLUGIN, GPU_FEATURE_DISCOVERY, MPS_CONTROL_DAEMON)


def check(content: bytes, file: str, programs: Sequence[str]) -> tuple[str, ...]:
    """Return one finished line for each error in a file, none when it can be used.

    `programs` are the names of those that read it; when none of them is known, all programs are meant.
    """
    parsed = parse_text(content, file)
    errors = [str(problem) for problem in parsed.problems.errors]
    names = {program.rpartition("/")[2] for program in programs}
    readers = [reader for reader in _READERS if names.intersection(reader.commands)] or _READERS
    for reader in readers:
        errors += [str(problem) for problem in judge_words(parsed.layer, reader, parsed.positions).errors]
    return tuple(dict.fromkeys(errors))
