"""What programs do not pay for at their start: libraries that only some of their uses need."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_demo.kubelet import Kubelet, Listed

BIN = Path(sys.executable).parent
NODE = "--simulated-node=t4"


def imported(importtime: str) -> set[str]:
    """Return the names of the modules in what `python -X importtime` wrote, which lists failed imports too."""
    return set(re.findall(r"^import time:[^|]*\|[^|]*\| +([\w.]+)", importtime, re.MULTILINE))


@pytest.mark.parametrize("command", [("--oneshot", NODE), ("topology", NODE)])
def test_gfd_prints_without_grpc_and_kubernetes(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", BIN / "gfd", *command], capture_output=True, text=True, check=True
    )
    loaded = imported(done.stderr)
    assert "gpu_core" in loaded
    heavy = {"grpc", "google", "kubernetes", "urllib3", "rich.console", "typer", "pydantic", "asyncio", "ssl"}
    assert loaded & (heavy | {"structlog", "gpu_cluster"}) == set()


def test_the_device_plugin_serves_without_kubernetes(socket_dir: Path) -> None:
    kubelet = Kubelet(socket_dir / "kubelet")
    flags = (NODE, f"--kubelet-socket={kubelet.socket}", f"--device-plugin-dir={kubelet.directory}")
    command = [sys.executable, "-X", "importtime", str(BIN / "nvidia-device-plugin"), *flags]
    with kubelet, (socket_dir / "log").open("w+", encoding="utf-8") as log:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log) as plugin:
            kubelet.log.wait_for(Listed, resource="nvidia.com/gpu")
            plugin.send_signal(signal.SIGTERM)
            assert plugin.wait() == 0
        log.seek(0)
        loaded = imported(log.read())
    assert "gpu_core" in loaded
    assert loaded & {"kubernetes", "urllib3", "rich.console", "typer", "pydantic"} == set()


# Tells which signals are held back when a program goes on to what takes long to import, and ends it there.
_IMPORTING = """
import importlib, os, signal, sys
class Look:
    def find_spec(self, name, path=None, target=None):
        if name == "gpu_core.config.programs":
            print(*sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Look())
importlib.import_module(sys.argv.pop(1) + ".cli").main()
"""


@pytest.mark.parametrize("package", ["config_manager", "device_plugin", "gpu_feature_discovery", "mps_control_daemon"])
def test_no_signal_is_lost_while_a_program_is_imported(package: str) -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTING, package], capture_output=True, text=True, check=True)
    held = sorted([signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT])
    assert done.stdout == f"{' '.join(str(int(number)) for number in held)}\n"
