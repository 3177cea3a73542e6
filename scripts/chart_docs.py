"""Generate what repeats values.yaml, the tables of the values and the defaults for templates, or --check them.

The comment directly above a key documents it; a line `# ---- Title ----` starts a section.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "charts/nvidia-device-plugin"
VALUES = CHART / "values.yaml"
SCHEMA = CHART / "values.schema.json"
# What templates know of the defaults: Helm takes a default away wherever somebody gives null.
DEFAULTS = CHART / "templates/_defaults.tpl"
REFERENCE = ROOT / "docs/reference/chart-values.md"
# What people see who have only the chart's package.
README = CHART / "README.md"
# Longer defaults are better read in the file itself.
LONGEST_DEFAULT = 60

README_HEAD = """# nvidia-device-plugin

GPUs for Kubernetes: the device plugin, gpu-feature-discovery, the config manager and the MPS control daemon of
k8s-gpu-suite. Values files of NVIDIA's chart of the same name work, with the image given on top.

    helm upgrade --install nvdp nvidia-device-plugin --namespace nvidia-device-plugin --create-namespace \\
      --set image.repository=registry.example/gpu/nvidia-device-plugin

Every container gets the privileges that the configs in `config.map` need, and no more. The tables below are generated
from the comments in `values.yaml`.
"""

HEAD = """# Values of the chart

Generated from `charts/nvidia-device-plugin/values.yaml` by `make manifests`; edit the comments there.

`null` means "not given": the config file decides, or the program's own default; for a group of values, and where a
value is needed, the default that stands here. Values under `devicePlugin`, `gfd`, `mps` and `configManager` win over
those for all components. A value that does not exist, or a word that a value does not know, is refused by
`values.schema.json` before anything is installed. What releases of NVIDIA's chart since 0.12 knew is accepted, and the
notes after an installation name what has no effect any more.
"""


Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One documented value: its path in dots, its default, and its meaning."""

    section: str
    path: str
    default: Any
    meaning: str


def main() -> int:
    """Write the pages, or compare them; the exit code is 1 where a committed one is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a page is stale")
    check: bool = parser.parse_args().check

    text = VALUES.read_text()
    values = tuple(documented(text))
    pages = {
        REFERENCE: page(HEAD, values),
        README: page(README_HEAD, values),
        DEFAULTS: defaults(yaml.safe_load(text), json.loads(SCHEMA.read_text())),
    }
    if not check:
        for path, text in pages.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return 0
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} does not match values.yaml. Run `make manifests` and commit.", file=sys.stderr)
    return 1 if stale else 0


def documented(text: str) -> Iterator[Value]:
    """Yield every value that has a comment, in the order of the file."""
    values = yaml.safe_load(text)
    section, comment = "", list[str]()
    parents: list[tuple[int, str]] = []
    for line in text.splitlines():
        if heading := re.fullmatch(r"# ---- (.+?) -+", line):
            section, comment = heading[1], []
        elif words := re.fullmatch(r" *# ?(.*)", line):
            comment.append(words[1])
        elif key := re.match(r"( *)([A-Za-z]\w*):", line):
            parents = [parent for parent in parents if parent[0] < len(key[1])]
            parents.append((len(key[1]), key[2]))
            names = [name for _, name in parents]
            if comment and (found := look_up(values, names)) is not MISSING:
                yield Value(section=section, path=".".join(names), default=found, meaning=" ".join(comment))
            comment = []
        else:
            comment = []


MISSING = object()


def look_up(values: Any, names: list[str]) -> Any:
    """Give the value at this path; MISSING where keys inside of lists only look like one."""
    for name in names:
        if not isinstance(values, dict) or name not in values:
            return MISSING
        values = values[name]
    return values


def page(head: str, values: tuple[Value, ...]) -> str:
    """Lay out the values below a head, as one table for each section."""
    lines = [head]
    for section in dict.fromkeys(value.section for value in values):
        lines += [f"## {section}", "", "| value | default | meaning |", "|---|---|---|"]
        lines += [
            f"| `{value.path}` | {shown(value.default)} | {value.meaning.replace('|', '&#124;')} |"
            for value in values
            if value.section == section
        ]
        lines.append("")
    return "\n".join(lines)


def defaults(values: Values, schema: Values) -> str:
    """Write templates that give the defaults, and which of them must stand in for null, as the schema has it."""
    needed = json.dumps(list(not_null(schema, values)), indent=2)
    return (
        "{{/* Generated from values.yaml by `make manifests`. All defaults, as JSON. */}}\n"
        f'{{{{- define "gpusuite.defaults" -}}}}\n{json.dumps(values, indent=2)}\n{{{{- end -}}}}\n\n'
        "{{/* From values.schema.json: the values that templates cannot do without, groups first, as JSON. */}}\n"
        f'{{{{- define "gpusuite.needed" -}}}}\n{needed}\n{{{{- end -}}}}\n'
    )


def not_null(schema: Values, values: Values, prefix: str = "") -> Iterator[str]:
    """Yield the paths of groups, and of values that may not be null, a group before what is in it."""
    for name, value in schema["properties"].items():
        if "properties" in value:
            yield f"{prefix}{name}"
            yield from not_null(value, values[name], f"{prefix}{name}.")
        elif name in values and not takes_null(value):
            yield f"{prefix}{name}"


def takes_null(schema: Values) -> bool:
    """Whether null is a value: it is listed, or there is a schema elsewhere, all of which list it."""
    return "$ref" in schema or "null" in schema.get("type", ()) or None in schema.get("enum", ())


def shown(default: Any) -> str:
    """Write a default as JSON, or say that it is long."""
    text = json.dumps(default)
    return f"`{text}`" if len(text) <= LONGEST_DEFAULT else "in the file"


if __name__ == "__main__":
    sys.exit(main())
