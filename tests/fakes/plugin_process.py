"""The device plugin as a process beside a test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpu_demo.kubelet import Kubelet

PROGRAM = Path(sys.executable).parent / "nvidia-device-plugin"


@contextmanager
def process(kubelet: Kubelet, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """Run the plugin with a kubelet until the block ends, when it is killed; its log is in its `stderr`."""
    command = [str(PROGRAM), f"--kubelet-socket={kubelet.socket}", f"--device-plugin-dir={kubelet.directory}", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as plugin:
        try:
            yield plugin
        finally:
            plugin.kill()
