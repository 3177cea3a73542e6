"""Stands for `nvidia-smi` as far as compute modes go.

Written into a directory of PATH by `fakes.mps_tools`. The modes of the GPUs stand in the file `compute-modes` beside
it; the file `smi-mode` says `healthy`, `failing`, `mute` for one that does not tell modes, `hanging` for one that does
not end, or `hanging on UUID` for one GPU only. Several may run at the same time.
"""

from __future__ import annotations

import fcntl
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHOWN = {"DEFAULT": "Default", "EXCLUSIVE_PROCESS": "Exclusive_Process", "PROHIBITED": "Prohibited"}


def main() -> int:
    behaviour = (HERE / "smi-mode").read_text("utf-8").strip()
    if behaviour == "failing":
        sys.stderr.write("Unable to determine the device handle for GPU: GPU is lost.\n")
        return 15
    if behaviour == "hanging" or behaviour == f"hanging on {sys.argv[2]}":
        with (HERE / "smi-hangs").open("a") as hangs:
            hangs.write(f"{sys.argv[2]}\n")
        time.sleep(120)
    with (HERE / "smi-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return answer(behaviour)


def answer(behaviour: str) -> int:
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
