"""The text of a config file to a layer, or everything that is wrong with it. Nothing is read from disk here."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_core.config.decode import Decoded, Place, decode
from gpu_core.config.document import UnreadableError, read_document
from gpu_core.config.layers import Layer, Position
from gpu_core.config.problems import Problem, Problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A file as a layer. `positions` tells where its keys and list entries stand."""

    layer: Layer = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    positions: dict[Place, Position] = field(default_factory=dict)


def parse_text(text: str | bytes, file: str) -> Parsed:
    """Read a config file's text. Never raises: what is wrong is in `problems`."""
    data = text.encode() if isinstance(text, str) else text
    try:
        root, more = read_document(data, file)
    except UnreadableError as error:
        return Parsed(problems=Problems((error.problem,)))
    decoded: Decoded = decode(root)
    problems = decoded.problems
    if more:
        message = "the file holds several documents; only the first counts"
        problems += (Problem(message=message, fatal=False, position=Position(file=file, line=1, column=1)),)
    return Parsed(layer=decoded.layer, problems=problems, positions=decoded.positions)
