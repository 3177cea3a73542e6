"""What a command line and the environment set: option values from text, by the rules of Go's flag package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_core.config.duration import Duration
from gpu_core.config.file.scalars import whole_number
from gpu_core.config.file.values import checked
from gpu_core.config.layers import Given, KeyPath, Layer, Origin, Source
from gpu_core.config.problems import Problem, Problems, shortened
from gpu_core.config.programs.flags import CommandLine
from gpu_core.config.programs.options import Option
from gpu_core.config.shape import Form, Leaf, at

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_LISTS = (Form.WORDS, Form.TEXTS, Form.INTEGERS)
_INT64 = range(-(2**63), 2**63)


def from_flag(option: Option, texts: list[str]) -> Any:
    """Return the value of an option whose flag was given these texts: the last one counts, or all for a list.

    Raises ValueError with a message for the user.
    """
    if option.form in _LISTS:
        return tuple(item for text in texts for item in _items(option, text))
    value = _single(option, texts[-1])
    leaf = at(option.key) if option.key is not None else None
    return checked(value, leaf) if isinstance(leaf, Leaf) else value


def from_variable(option: Option, text: str) -> Any:
    """Return the value of an option whose variable is defined, or None when an empty one counts as absent.

    Raises ValueError with a message for the user.
    """
    if text == "":
        # Set but empty is a value for texts, booleans and lists of texts; numbers cannot be empty.
        match option.form:
            case Form.BOOLEAN:
                return False
            case Form.TEXT | Form.WORD:
                return _single(option, text)
            case Form.WORDS | Form.TEXTS:
                return ("",)
        return None
    return from_flag(option, [text])


def _items(option: Option, text: str) -> list[Any]:
    parts = [part.strip() for part in text.split(",")]
    return [_whole(part) for part in parts] if option.form is Form.INTEGERS else parts


def _single(option: Option, text: str) -> Any:
    match option.form:
        case Form.BOOLEAN:
            return _boolean(text)
        case Form.INTEGER:
            return _whole(text)
        case Form.NUMBER:
            return _number(text)
        case Form.DURATION:
            return Duration.parse(text)
    return text


def _boolean(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError(f"{shortened(text)!r} is neither true nor false")


def _whole(text: str) -> int:
    number = whole_number(text)
    if number is None or number not in _INT64:
        raise ValueError(f"{shortened(text)!r} is no whole number")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{shortened(text)!r} is no number") from error


def environment_layer(options: Sequence[Option], environ: Mapping[str, str]) -> tuple[Layer, Problems]:
    """Return what the variables set. Of several for one option, the first that is defined counts, even empty."""
    layer: dict[KeyPath, Given] = {}
    problems: list[Problem] = []
    for option in options:
        variable = next((name for name in option.variables if name in environ), None)
        if variable is None:
            continue
        origin = Origin(source=Source.ENVIRONMENT, name=variable)
        try:
            value = from_variable(option, environ[variable])
        except ValueError as error:
            problems.append(Problem(message=str(error), where=str(origin), source=origin.source))
            continue
        if value is not None:
            layer[option.path] = Given(value=value, origin=origin)
    return layer, Problems(tuple(problems))


def flag_layer(line: CommandLine) -> tuple[Layer, Problems]:
    """Return what the flags set."""
    layer: dict[KeyPath, Given] = {}
    problems: list[Problem] = []
    for option, texts in line.texts:
        origin = Origin(source=Source.FLAG, name=f"--{option.name}")
        try:
            layer[option.path] = Given(value=from_flag(option, list(texts)), origin=origin)
        except ValueError as error:
            problems.append(Problem(message=str(error), where=str(origin), source=origin.source))
    return layer, Problems(tuple(problems))
