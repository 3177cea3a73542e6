"""Null is taken for "not given", wherever it stands, and what is accepted without effect is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chart.rendering import Values, merged, render
from chart.test_notes import with_notes
from chart.test_values import CHANGES, DEFAULTS, EVERYTHING, OPEN, WITHOUT_EFFECT, nested


def groups(values: Values, prefix: str = "") -> Iterator[str]:
    """Give the paths of all groups of values, outside of the subchart."""
    for key, value in values.items():
        if isinstance(value, dict) and value and f"{prefix}{key}" not in OPEN:
            yield f"{prefix}{key}"
            if key != "nfd":
                yield from groups(value, f"{prefix}{key}.")


GROUPS = tuple(groups(DEFAULTS))


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
@pytest.mark.parametrize(
    "paths",
    [
        *((group,) for group in GROUPS),
        tuple(path for path in CHANGES if "." not in path),
        *(tuple(path for path in CHANGES if path.startswith(f"{group}.")) for group in GROUPS if group != "nfd"),
        tuple(sorted(WITHOUT_EFFECT)),
    ],
    ids=lambda paths: paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more",
)
def test_null_is_taken_for_not_given(tools: Path, helm: str, paths: tuple[str, ...]) -> None:
    """Also for groups, and for what older releases of the original knew."""
    values = EVERYTHING
    for path in paths:
        if path not in {"image", "image.repository"}:
            values = merged(values, nested(path, None))

    assert len(render(tools / helm, values).objects) > 5


def test_values_without_effect_are_all_named_in_the_notes(tools: Path, tmp_path: Path) -> None:
    values: Values = {}
    for path in (*WITHOUT_EFFECT, "gfd.namespaceOverride"):
        values = merged(values, nested(path, {"x": "y"} if path != "gfd.namespaceOverride" else "x"))
    notes = render(tools / "helm-4", values, chart=with_notes(tmp_path)).at("Notes/notes: text")
    line = next(line for line in notes.splitlines() if line.startswith("NOTE: these values"))

    assert set(line.removesuffix(".").rpartition(": ")[2].split(", ")) == {*WITHOUT_EFFECT, "gfd.namespaceOverride"}
