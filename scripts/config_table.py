"""The config file's keys and words as a table that a template of the chart reads: Helm's schema sees a text only.

A mapping is `{"keys": …}`, with `exact` where case tells keys apart, and `needs` for keys that must be there. A list of
mappings is `{"entries": …}`. Any other value is `{"is": KIND}`, with `words`, a `pattern` or the `least` where there is
one, and `null` where null counts as absent.
"""

from __future__ import annotations

import json
from typing import Any

from gpu_core.config.keys import Constraint
from gpu_core.config.schema import DURATION, RESOURCE_NAME
from gpu_core.config.shape import Form, Leaf, Section, shape

Table = dict[str, Any]

# A null section counts as absent, as in the original, but for the one that then lacks its resources.
_NOT_NULL = "timeSlicing"
_LEAST = {Constraint.REPLICAS: 1, Constraint.NOT_NEGATIVE: 0, Constraint.PERCENTAGE: 0}
_KINDS = {
    Form.TEXT: "text",
    Form.BOOLEAN: "true or false",
    Form.INTEGER: "a whole number",
    Form.NUMBER: "a number",
    Form.DURATION: "a duration such as 60s",
    Form.WORD: "a word",
    Form.WORDS: "a word or a list of words",
    Form.TEXTS: "a list of texts",
    Form.INTEGERS: "a list of whole numbers",
    Form.DEVICES: "`all`, a count or a list of devices",
}


def config_table() -> str:
    """Return the template that gives the table, as JSON."""
    head = "{{/* Generated from the config model by `make config-docs`: keys and words of a config file, as JSON. */}}"
    table = json.dumps(_section(shape()), indent=1, ensure_ascii=False)
    return f'{head}\n{{{{- define "gpusuite.configTable" -}}}}\n{table}\n{{{{- end -}}}}\n'


def _section(section: Section) -> Table:
    needs = [
        member.key.name
        for member in section.members
        if (isinstance(member, Leaf) and member.required) or member.key.constraint is Constraint.NOT_EMPTY
    ]
    table: Table = {"keys": {member.key.name: _member(member, section) for member in section.members}}
    if section.exact:
        table["exact"] = True
    if needs:
        table["needs"] = needs
    return table


def _member(member: Leaf | Section, parent: Section) -> Table:
    if isinstance(member, Leaf):
        return _leaf(member, in_entry=parent.repeated)
    if member.repeated:
        return {"entries": _section(member), "null": member.key.constraint is not Constraint.NOT_EMPTY}
    return {**_section(member), "null": member.key.name != _NOT_NULL}


def _leaf(leaf: Leaf, *, in_entry: bool) -> Table:
    # In an entry of a list, the original has no word for "absent": null is an empty text, or an error.
    empty = leaf.form is Form.TEXT and leaf.key.constraint is Constraint.NONE
    table: Table = {"is": _KINDS[leaf.form], "null": not in_entry or leaf.key.ours or empty}
    if leaf.words is not None:
        table["words"] = [word.value for word in leaf.words]
    if leaf.key.constraint is Constraint.VERSION:
        table = {**table, "is": _KINDS[Form.WORD], "words": ["v1", ""]}
    if leaf.key.constraint is Constraint.RESOURCE_NAME:
        table["pattern"] = RESOURCE_NAME
    if leaf.form is Form.DURATION:
        table["pattern"] = DURATION
    if leaf.key.constraint in _LEAST and leaf.form is not Form.DURATION:
        table["least"] = _LEAST[leaf.key.constraint]
    return table
