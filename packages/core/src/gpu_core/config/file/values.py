"""One value of the config file: from a parsed node to what a layer holds, or the reason why not.

Nothing is coerced: the text `"true"` is no boolean and the number 1 no text. As in the original, a floating point
number without decimals counts as a whole number, and a numeric duration as nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu_core.config.duration import Duration
from gpu_core.config.file.document import Mapping, Node, Scalar, Sequence
from gpu_core.config.file.scalars import is_yaml11_boolean
from gpu_core.config.keys import Constraint
from gpu_core.config.names import full_resource_name, is_device_reference
from gpu_core.config.problems import shortened
from gpu_core.config.shape import Form, Leaf

_INT64 = range(-(2**63), 2**63)


def read_value(node: Node, leaf: Leaf) -> Any:
    """Return the value of a leaf; the text of words, which are judged later.

    Raises ValueError with a message for the user.
    """
    return checked(_READERS[leaf.form](node), leaf)


def checked(value: Any, leaf: Leaf) -> Any:
    """Return the value in its final form, or raise ValueError when it breaks the leaf's own rule."""
    match leaf.key.constraint:
        case Constraint.RESOURCE_NAME:
            return full_resource_name(value)
        case Constraint.REPLICAS if value < 1:
            raise ValueError(f"{value} containers cannot share a device; at least 1 can, which shares nothing")
        case Constraint.NOT_NEGATIVE if value < type(value)(0):
            raise ValueError(f"{value} is negative")
        case Constraint.POSITIVE if value <= type(value)(0):
            raise ValueError(f"{value} is not more than zero")
        case Constraint.PERCENTAGE if not 0 <= value <= 100:
            raise ValueError(f"{value} is no percentage; 0 to 100 are allowed")
        case Constraint.VERSION if value != "v1":
            raise ValueError(f"{shortened(value)!r} is an unknown version; only v1 exists")
    return value


def describe(node: Node) -> str:
    """Name what a node is, for a message."""
    match node:
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool()):
            return f"the boolean {node.text}"
        case Scalar(value=int() | float()):
            return f"the number {node.text}"
    return f"the text {shortened(node.text)!r}"


def _wrong(node: Node, wanted: str, hint: str = "") -> ValueError:
    return ValueError(f"expected {wanted}, found {describe(node)}{hint}")


def _text(node: Node) -> str:
    match node:
        case Scalar(value=str(text)):
            return text
        case Scalar(value=bool()) if is_yaml11_boolean(node.text):
            raise _wrong(node, "text", f'; YAML reads a bare {node.text} as a boolean, so write "{node.text}"')
        case Scalar(value=bool() | int() | float()):
            raise _wrong(node, "text", f'; write "{shortened(node.text)}" with quotes')
    raise _wrong(node, "text")


def _boolean(node: Node) -> bool:
    match node:
        case Scalar(value=bool(value)):
            return value
        case Scalar(value=str()) if node.text.lower() in ("true", "false"):
            raise _wrong(node, "true or false", "; remove the quotes")
    raise _wrong(node, "true or false")


def _whole(node: Node) -> int:
    match node:
        case Scalar(value=bool()):
            pass
        case Scalar(value=int() | float() as number) if number == int(number) and int(number) in _INT64:
            return int(number)
        case Scalar(value=str()) if not node.plain and node.text.isdecimal():
            raise _wrong(node, "a whole number", "; remove the quotes")
    raise _wrong(node, "a whole number")


def _number(node: Node) -> float:
    match node:
        case Scalar(value=bool()):
            pass
        case Scalar(value=int() | float() as number):
            return float(number)
    raise _wrong(node, "a number")


def _duration(node: Node) -> Duration:
    match node:
        case Scalar(value=bool()):
            pass
        case Scalar(value=int() | float() as number):
            if int(number) not in _INT64:
                raise ValueError(f"{shortened(node.text)} nanoseconds are longer than 292 years")
            return Duration(int(number))
        case Scalar(value=str(text)):
            return Duration.parse(text)
    raise _wrong(node, "a duration such as 60s")


def _words(node: Node) -> tuple[str, ...]:
    match node:
        case Scalar(value=str(text)):
            return (text,)
        case Sequence(items=items):
            # An empty entry is an empty word for the original; it is refused where words are judged.
            return tuple("" if isinstance(item, Scalar) and item.value is None else _text(item) for item in items)
    raise _wrong(node, "a word or a list of words")


def _texts(node: Node) -> tuple[str, ...]:
    if not isinstance(node, Sequence):
        raise _wrong(node, "a list of texts")
    # An index may be written bare: [0, 1].
    return tuple(
        str(item.value) if isinstance(item, Scalar) and type(item.value) is int else _text(item) for item in node.items
    )


def _whole_numbers(node: Node) -> tuple[int, ...]:
    if not isinstance(node, Sequence):
        raise _wrong(node, "a list of whole numbers")
    # An empty entry is zero for the original.
    return tuple(0 if isinstance(item, Scalar) and item.value is None else _whole(item) for item in node.items)


def _devices(node: Node) -> str | int | tuple[str, ...]:
    match node:
        case Scalar(value="all"):
            return "all"
        case Scalar(value=str()):
            raise _wrong(node, "`all`, a count or a list of devices", "; a single device is written as a list")
        case Sequence(items=items):
            return tuple(_device(item) for item in items)
        case Scalar(value=int() | float()) if not isinstance(node.value, bool):
            count = _whole(node)
            if count <= 0:
                raise ValueError(f"{count} devices cannot be shared; a count is at least 1")
            return count
    raise _wrong(node, "`all`, a count or a list of devices")


def _device(node: Node) -> str:
    match node:
        case Scalar(value=None):
            return "0"  # The original's reading of an empty entry.
        case Scalar(value=bool()):
            pass
        case Scalar(value=int() | float() as number) if number >= 0 and number == int(number):
            return str(int(number))
        case Scalar(value=str(text)) if is_device_reference(text):
            return text
    raise _wrong(node, "a GPU index, a MIG index such as 0:1, or the UUID of a GPU or MIG device")


_READERS: dict[Form, Callable[[Node], Any]] = {
    Form.TEXT: _text,
    Form.BOOLEAN: _boolean,
    Form.INTEGER: _whole,
    Form.NUMBER: _number,
    Form.DURATION: _duration,
    Form.WORD: _text,
    Form.WORDS: _words,
    Form.TEXTS: _texts,
    Form.INTEGERS: _whole_numbers,
    Form.DEVICES: _devices,
}
