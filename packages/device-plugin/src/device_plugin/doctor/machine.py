"""The real machine, as the doctor asks it; nothing here changes anything."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

from device_plugin.doctor.scene import Driver
from gpu_core.config.model import Config
from gpu_core.errors import NvmlCallError, SuiteError
from gpu_core.hardware.source import NodeSource, is_character_device
from gpu_core.runtime.process import Completed, run
from gpu_kubelet.sockets import accepts

_CONNECT = 1.0
_PROGRAM = 10.0

DRIVER_PATIENCE = 30.0
"""Seconds that the driver has to answer; a driver in trouble may never do."""

_MARKS = ("/.dockerenv", "/run/.containerenv")


class RealMachine:
    """Files, sockets and programs of this machine."""

    def may(self, path: Path, *, write: bool) -> bool:
        """Whether we may read, and write."""
        return os.access(path, os.R_OK | (os.W_OK if write else 0))

    def answers(self, socket: Path) -> bool:
        """Whether somebody accepts connections."""
        return accepts(socket, _CONNECT)

    def run(self, argv: tuple[str, ...], environment: Mapping[str, str], text: str) -> Completed:
        """Run a program. Raises ProcessError."""
        return run(argv, timeout=_PROGRAM, env=environment, text=text)

    def character_device(self, path: Path) -> bool:
        """Whether a path is a character device."""
        return is_character_device(str(path))


def in_container(environ: Mapping[str, str], root: Path = Path("/")) -> bool:
    """Whether this process runs in a container, as far as one can tell."""
    return "KUBERNETES_SERVICE_HOST" in environ or any((root / mark.lstrip("/")).exists() for mark in _MARKS)


def ask_driver(source: NodeSource, config: Config, patience: float = DRIVER_PATIENCE) -> Driver:
    """Ask the driver for the node's GPUs, in a thread of its own that is left behind when it hangs."""
    answer: list[Driver] = []

    def ask() -> None:
        try:
            backend = source.open(config)
            try:
                answer.append(Driver(inventory=backend.read()))
            finally:
                backend.close()
        except SuiteError as error:
            answer.append(Driver(error=error))

    thread = threading.Thread(target=ask, name="ask-driver", daemon=True)
    thread.start()
    thread.join(patience)
    if not answer:
        message = f"The driver did not answer within {patience:g} s."
        return Driver(error=NvmlCallError(message, call="DeviceGetCount", code="TIMEOUT"))
    return answer[0]
