"""A node as files below a directory: driver, device nodes, sockets, container runtime; whole, for tests to break."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from device_plugin.doctor.scene import Driver, Scene
from fakes.driver_root import debian, link, put
from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.devices.choose import open_backend
from gpu_core.devices.simulated.files import load_node
from gpu_core.errors import ConfigError, ProcessError, SuiteError
from gpu_core.runtime.process import Completed
from gpu_core.runtime.roots import Roots
from gpu_kubelet.sockets import accepts

KUBELET = "var/lib/kubelet/device-plugins/kubelet.sock"
PODS = "var/lib/kubelet/pod-resources/kubelet.sock"
CONTAINERD = "etc/containerd/config.toml"
NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")

RUNTIME = """
version = 2
[plugins."io.containerd.grpc.v1.cri"]
enable_cdi = true
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "nvidia"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
"""

_VERSION = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    "GCC version:  gcc version 12.2.0\n"
)


@dataclass(kw_only=True)
class FakeMachine:
    """What only a real node has: device nodes and rights. Files below `forbidden` may not be used."""

    forbidden: set[Path] = field(default_factory=set)
    answer: Completed | ProcessError = field(
        default_factory=lambda: Completed(returncode=0, stdout="100.0\n", stderr="")
    )

    def may(self, path: Path, *, write: bool) -> bool:
        return path.exists() and not any(path.is_relative_to(closed) for closed in self.forbidden)

    def answers(self, socket: Path) -> bool:
        return accepts(socket, 1.0)

    def run(self, argv: tuple[str, ...], environment: Mapping[str, str], text: str) -> Completed:
        if isinstance(self.answer, ProcessError):
            raise self.answer
        return self.answer

    def character_device(self, path: Path) -> bool:
        """Files stand for device nodes, and directories for what is there by mistake."""
        return path.is_file()


class NodeRoot:
    """A node in good order, with one T4 and a running kubelet. `stack` ends what was started."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root = root
        self.stack = stack
        self.machine = FakeMachine()
        self.node = "t4"
        self.happenings: list[str] = []
        self.args: list[str] = []
        self.environ: dict[str, str] = {}
        self.driver_missing = False
        self.error: SuiteError | None = None
        self.host: Path | None = root
        self.container = False
        debian(root)
        self.put("proc/driver/nvidia/version", _VERSION)
        self.put("proc/self/status", "Name:\tpython\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n")
        for name in (*NODES, "nvidia0"):
            self.put(f"dev/{name}", "")
        self.put(CONTAINERD, RUNTIME)
        for tool in ("nvidia-container-runtime", "nvidia-ctk"):
            self.put(f"usr/bin/{tool}", "")
        (root / "var/run/cdi").mkdir(parents=True)
        self.plug("0000:07:00.0")
        self.listen(KUBELET)
        self.listen(PODS)

    def plug(self, address: str, *, driver: str = "nvidia", class_code: int = 0x030200, vendor: int = 0x10DE) -> None:
        """Put a function on the PCI bus, which a driver holds; an empty one for none."""
        folder = f"sys/bus/pci/devices/{address}"
        for name, value in (("vendor", f"{vendor:#06x}"), ("class", f"{class_code:#08x}"), ("device", "0x1eb8")):
            self.put(f"{folder}/{name}", f"{value}\n")
        if driver:
            (self.root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
            self.link(f"{folder}/driver", f"../../drivers/{driver}")

    def unplug(self) -> None:
        """Leave the PCI bus without a GPU."""
        self.remove("sys/bus/pci/devices/0000:07:00.0")

    def put(self, path: str, text: str) -> None:
        put(self.root, path, text.encode())

    def link(self, path: str, target: str) -> None:
        (self.root / path).unlink(missing_ok=True)
        link(self.root, path, target)

    def remove(self, *paths: str) -> None:
        for path in paths:
            found = self.root / path
            if found.is_dir() and not found.is_symlink():
                shutil.rmtree(found)
            else:
                found.unlink()

    def listen(self, path: str, *, stays: bool = True) -> None:
        """Serve a socket, or leave one behind that nobody serves."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(place))
        listener.listen()
        if stays:
            self.stack.callback(listener.close)
        else:
            listener.close()

    def config(self, text: str) -> None:
        """Give the plugin a config file."""
        self.put("config.yaml", text)
        self.args.append(f"--config-file={self.root / 'config.yaml'}")

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text("utf-8")
        assert old in text
        self.put(path, text.replace(old, new))

    def scene(self) -> Scene:
        """Return what the doctor works on."""
        refused: tuple[str, ...] = ()
        try:
            loaded = load(DEVICE_PLUGIN, self.args, self.environ)
        except ConfigError as error:
            refused = tuple(str(error).splitlines())
            loaded = load(DEVICE_PLUGIN, [], {})
        return Scene(
            own=Roots(root=self.root),
            host=None if self.host is None else Roots(root=self.host),
            machine=self.machine,
            container=self.container or self.host is None,
            config=loaded.config,
            settings=loaded.settings,
            driver=self._driver(loaded),
            config_file=loaded.settings.config_file,
            refused=refused,
            warnings=loaded.warnings,
            environ=self.environ,
        )

    def _driver(self, loaded: Any) -> Driver:
        if self.error is not None:
            return Driver(error=self.error)
        strategy = loaded.config.flags.device_discovery_strategy
        try:
            if self.driver_missing:
                backend = open_backend(
                    strategy=strategy,
                    driver_root_ctr=str(self.root),
                    roots=Roots(root=self.root),
                    loader=_nothing_loads,
                )
            else:
                events = self.root / "events"
                events.write_text("".join(f"{line}\n" for line in self.happenings), "utf-8")
                backend = open_backend(strategy=strategy, simulated=load_node(self.node), simulated_events=events)
            try:
                return Driver(inventory=backend.read())
            finally:
                backend.close()
        except SuiteError as error:
            return Driver(error=error)


def _nothing_loads(name: str) -> Any:
    raise OSError(f"{name}: cannot open shared object file: No such file or directory")


def cdi_file(kind: str) -> str:
    """Return the text of a CDI specification without devices."""
    return json.dumps({"cdiVersion": "0.5.0", "kind": kind, "devices": []})
