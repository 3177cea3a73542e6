"""Option values from text: what a flag or an environment variable says, by the rules of Go's flag package."""

from __future__ import annotations

from typing import Any

from gpu_core.config.duration import Duration
from gpu_core.config.options import Option
from gpu_core.config.problems import shortened
from gpu_core.config.scalars import whole_number
from gpu_core.config.shape import Form, Leaf, at
from gpu_core.config.values import checked

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
