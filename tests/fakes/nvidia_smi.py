"""Stands for `nvidia-smi` as far as compute modes go.

Written into a directory of PATH by `fakes.mps_tools`. The modes of the GPUs stand in the file `compute-modes` beside
it; the file `smi-mode` says `healthy`, `failing`, or `mute` for one that does not tell modes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHOWN = {"DEFAULT": "Default", "EXCLUSIVE_PROCESS": "Exclusive_Process", "PROHIBITED": "Prohibited"}


def main() -> int:
    behaviour = (HERE / "smi-mode").read_text("utf-8").strip()
    if behaviour == "failing":
        sys.stderr.write("Unable to determine the device handle for GPU: GPU is lost.\n")
        return 15
    file = HERE / "compute-modes"
    modes = json.loads(file.read_text("utf-8"))
    match sys.argv[1:]:
        case ["-i", uuid, "-c", mode]:
            modes[uuid] = mode
            file.write_text(json.dumps(modes), "utf-8")
            sys.stdout.write(f"Set compute mode to {mode} for GPU {uuid}.\n")
        case ["-i", uuid, "--query-gpu=compute_mode", "--format=csv,noheader"]:
            sys.stdout.write("[N/A]\n" if behaviour == "mute" else f"{SHOWN[modes.get(uuid, 'DEFAULT')]}\n")
        case _:
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
