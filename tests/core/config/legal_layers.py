"""Generated layers of configuration that are legal, for the laws that must hold for all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gpu_core.config.duration import Duration
from gpu_core.config.keys import Constraint
from gpu_core.config.layers import DEFAULT_ORIGIN, Given, KeyPath, Layer, Origin, Source
from gpu_core.config.shape import Form, Leaf, Section, leaves, shape

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12)
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True).map("nvidia.com/{}".format)
DEVICES = st.just("all") | st.integers(1, 16) | st.lists(st.sampled_from(["0", "1:2", "15"]), max_size=3).map(tuple)
BOUNDS = {
    Constraint.REPLICAS: (1, 64),
    Constraint.NOT_NEGATIVE: (0, 10**6),
    Constraint.POSITIVE: (1, 10**6),
    Constraint.PERCENTAGE: (0, 100),
}


def leaf_values(leaf: Leaf) -> st.SearchStrategy[Any]:
    """Return legal values of a leaf as a layer holds them."""
    lowest, highest = BOUNDS.get(leaf.key.constraint, (-1000, 1000))
    match leaf.form:
        case Form.TEXT if leaf.key.constraint is Constraint.RESOURCE_NAME:
            return NAMES
        case Form.TEXT if leaf.key.constraint is Constraint.VERSION:
            return st.just("v1")
        case Form.TEXT:
            return TEXTS
        case Form.BOOLEAN:
            return st.booleans()
        case Form.INTEGER:
            return st.integers(lowest, highest)
        case Form.NUMBER:
            return st.floats(lowest, highest, allow_subnormal=False)
        case Form.DURATION:
            return st.integers(lowest, highest).map(Duration) | st.just(Duration.infinite())
        case Form.WORD:
            return st.sampled_from([word.value for word in leaf.words or ()])
        case Form.WORDS:
            return st.lists(st.sampled_from([word.value for word in leaf.words or ()]), max_size=3).map(tuple)
        case Form.TEXTS:
            return st.lists(TEXTS, max_size=3).map(tuple)
        case Form.INTEGERS:
            return st.lists(st.integers(0, 200), max_size=3).map(tuple)
    return DEVICES


def entries(section: Section) -> st.SearchStrategy[Any]:
    """Return legal lists of entries."""
    members = [member for member in section.members if isinstance(member, Leaf)]
    entry = st.fixed_dictionaries(
        {member.key.name: leaf_values(member) for member in members if member.required},
        optional={member.key.name: leaf_values(member) for member in members if not member.required},
    )
    return st.lists(entry, min_size=1, max_size=3).map(tuple)


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """Return a legal layer, in which a sharing strategy has resources when it has anything."""
    origin = draw(st.sampled_from([DEFAULT_ORIGIN, Origin(source=Source.FLAG, name="--x")]))
    layer: dict[KeyPath, Given] = {}
    for path, member in leaves(shape()):
        if draw(st.booleans()):
            value = draw(entries(member) if isinstance(member, Section) else leaf_values(member))
            layer[path] = Given(value=value, origin=origin)
    for strategy in ("timeSlicing", "mps"):
        path = ("sharing", strategy, "resources")
        if path not in layer and any(given[:2] == path[:2] for given in layer):
            layer[path] = Given(value=({"name": "nvidia.com/gpu", "replicas": draw(st.integers(1, 3))},), origin=origin)
    return layer
