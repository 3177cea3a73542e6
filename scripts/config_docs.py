"""Write the generated reference pages and the config file's JSON Schema, or with --check say whether they are stale."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from config_table import config_table

from gpu_core.config.reference import config_page, flags_page
from gpu_core.config.schema import json_schema
from gpu_core.health.reference import xids_page

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Write what is generated, or compare it; the exit code is 1 where a committed file is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")
    check: bool = parser.parse_args().check

    stale = [name for name, text in generated().items() if not _holds(ROOT / name, text)]
    for name in stale:
        if check:
            print(f"{name} is stale. Run `make config-docs` and commit the result.", file=sys.stderr)
        else:
            (ROOT / name).write_text(generated()[name], encoding="utf-8")
    return 1 if check and stale else 0


def generated() -> dict[str, str]:
    """Return the text of every generated file by its path below the root."""
    schema = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    return {
        "docs/reference/config.md": config_page(),
        "docs/reference/flags.md": flags_page(),
        "docs/reference/xids.md": xids_page(),
        "docs/reference/config.schema.json": schema,
        "packages/core/src/gpu_core/config/schema.json": schema,
        "charts/nvidia-device-plugin/templates/_config-table.tpl": config_table(),
    }


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
