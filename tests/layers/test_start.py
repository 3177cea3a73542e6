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
    assert loaded & {"grpc", "google", "kubernetes", "urllib3", "rich.console", "typer", "pydantic"} == set()


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
