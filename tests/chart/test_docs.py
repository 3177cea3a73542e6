"""What the documentation tells people to type, and to write into values, renders."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from chart.conftest import Render
from chart.rendering import ROOT, Values

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OURS = "charts/nvidia-device-plugin"
# What `helm template` does not know, and what keeps the values of before, which named an image.
NOT_FOR_TEMPLATES = {"--install", "--create-namespace", "--reuse-values", "--reset-then-reuse-values"}
KEEPING = ("--reuse-values", "--reset-then-reuse-values")
IMAGE = ("--set", "image.repository=registry.example/gpu/nvidia-device-plugin")
# What other pages, or the page itself, have written before.
FILES = {"values.yaml": "{}\n", "mps.yaml": "version: v1\n"}


def blocks(page: Path, *languages: str) -> list[str]:
    """Give the fenced blocks of a page in these languages, without the indentation of the list they stand in."""
    found = re.findall(r"^( *)```(\w+)\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [
        "\n".join(line.removeprefix(indent) for line in text.splitlines())
        for indent, language, text in found
        if language in languages
    ]


def commands() -> list[tuple[str, list[str]]]:
    """Give every `helm upgrade` of our chart in the documentation, with the page that has it."""
    found = []
    for page in PAGES:
        for block in blocks(page, "sh"):
            for text in re.split(r"\n(?=\S*helm )", f"\n{block}".replace("\\\n", " ")):
                if text.startswith("helm upgrade ") and OURS in text:
                    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
                    lexer.whitespace_split = True
                    lexer.commenters = ""
                    words = list(lexer)
                    end = next((i for i, word in enumerate(words) if word in {"kubectl", "|"}), len(words))
                    found.append((str(page.relative_to(ROOT)), words[:end]))
    return found


@pytest.mark.parametrize(("page", "words"), commands(), ids=lambda value: value if isinstance(value, str) else "helm")
def test_a_command_of_the_documentation_renders(tools: Path, tmp_path: Path, page: str, words: list[str]) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    arguments = [word for word in words[2:] if word not in NOT_FOR_TEMPLATES]
    kept = IMAGE if any(word in KEEPING for word in words) else ()
    (tmp_path / "charts").symlink_to(ROOT / "charts")
    done = subprocess.run(
        [tools / "helm-4", "template", *arguments, *kept], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (page, done.returncode, done.stderr) == (page, 0, "")


def test_commands_are_found() -> None:
    assert len(commands()) > 5


def documented_values() -> list[Values]:
    """Give the values that the pages about the chart show: by themselves, or in what Argo CD, Flux and k3s read."""
    found = []
    for name in ("swap", "install-with-helm", "kinds-of-nodes"):
        for block in blocks(ROOT / f"docs/howto/{name}.md", "yaml"):
            for document in yaml.safe_load_all(block):
                spec = document.get("spec", {})
                values = spec.get("values", spec.get("source", {}).get("helm", {}).get("valuesObject"))
                if "valuesContent" in spec:
                    values = yaml.safe_load(spec["valuesContent"])
                if values is not None or "spec" not in document:
                    found.append(values or document)
    return found


@pytest.mark.parametrize("values", documented_values(), ids=", ".join)
def test_values_of_the_documentation_render(rendered: Render, values: Values) -> None:
    assert rendered(values).kinds()["DaemonSet"]
