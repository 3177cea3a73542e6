"""The generated pages: complete, and the committed files are what the generator writes now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from gpu_core.config.layers import dotted
from gpu_core.config.reference import PROGRAMS, config_page, flags_page
from gpu_core.config.schema import json_schema
from gpu_core.config.shape import Section, leaves, shape

ROOT = Path(__file__).parents[3]
SCHEMA = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        pytest.param("docs/reference/config.md", config_page(), id="the page of the config file"),
        pytest.param("docs/reference/flags.md", flags_page(), id="the page of the flags"),
        pytest.param("docs/reference/config.schema.json", SCHEMA, id="the schema in the documentation"),
        pytest.param("packages/core/src/gpu_core/config/schema.json", SCHEMA, id="the schema in the package"),
    ],
)
def test_generated_files_are_up_to_date(file: str, text: str) -> None:
    assert (ROOT / file).read_text(encoding="utf-8") == text, "run `make config-docs`"


def test_every_key_is_on_its_page() -> None:
    page = config_page()

    for path, member in leaves(shape()):
        title = dotted(path if isinstance(member, Section) else path[:-1])
        assert not title or f"{title}\n" in page
        assert f"| `{path[-1]}`" in page
        assert member.key.doc in page


def test_words_are_written_as_yaml_takes_them_for_text() -> None:
    """`recovery: off` is a boolean to YAML, and so refused."""
    cells = re.findall(r"\| one (?:of|or several of) ([^|]+) \|", config_page())
    words = [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]

    assert '"off"' in words
    assert [word for word in words if not isinstance(yaml.safe_load(word), str)] == []


def test_every_flag_and_variable_is_on_its_page() -> None:
    page = flags_page()

    for program in PROGRAMS:
        section = page.partition(f"## {program.name}\n")[2].partition("\n## ")[0]
        for option in program.options:
            assert all(f"`{'--' if len(name) > 1 else '-'}{name}`" in section for name in option.names)
            assert all(f"`{variable}`" in section for variable in option.variables)
