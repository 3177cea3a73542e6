"""What the model says about the file, and mistakes in declaring it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from gpu_core.config.keys import key
from gpu_core.config.model import Resources
from gpu_core.config.programs.options import Group, Program, for_key
from gpu_core.config.reference import PROGRAMS
from gpu_core.config.shape import Leaf, Section, at, members_of, shape
from gpu_core.config.sharing import Sharing
from gpu_core.config.words import DeviceListStrategy, MigStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    entries: tuple[Resources, ...] = key("entries", "Entries with sections.", default=())


def test_finds_keys_by_their_path() -> None:
    leaf = at(("flags", "migStrategy"))
    section = at(("sharing", "mps"))

    assert isinstance(leaf, Leaf)
    assert (leaf.words, leaf.default, leaf.required) == (MigStrategy, MigStrategy.NONE, False)
    assert isinstance(section, Section)
    assert (section.optional, section.exact, section.repeated) == (True, True, False)
    assert section == next(member for member in members_of(Sharing) if member.key.name == "mps")


@pytest.mark.parametrize("path", [("quux",), ("flags", "quux"), ("flags", "migStrategy", "quux")])
def test_says_which_path_does_not_exist(path: tuple[str, ...]) -> None:
    with pytest.raises(KeyError, match=r"quux"):
        at(path)


def test_an_option_cannot_set_a_section() -> None:
    with pytest.raises(TypeError, match=r"sharing\.mps is no single value"):
        for_key("mps", "sharing.mps", [], Group.DEVICES)


def test_entries_cannot_hold_sections() -> None:
    with pytest.raises(TypeError, match="the entries of entries hold sections"):
        members_of(Nested)


def test_every_key_is_documented_in_a_sentence() -> None:
    def check(section: Section) -> None:
        for member in section.members:
            assert member.key.doc.endswith(".")
            if isinstance(member, Section):
                check(member)

    check(shape())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_flags_and_variables_of_a_program_are_distinct(program: Program[Any]) -> None:
    names = [name for option in program.options for name in option.names]
    variables = [variable for option in program.options for variable in option.variables]

    assert len(names) == len(set(names))
    assert len(variables) == len(set(variables))
    assert all(option.doc.endswith(".") for option in program.options)


def test_cdi_strategies_know_that_they_are() -> None:
    assert [strategy.value for strategy in DeviceListStrategy if strategy.is_cdi] == ["cdi-annotations", "cdi-cri"]
