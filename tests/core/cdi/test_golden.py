"""The specifications that the original wrote for the same driver roots, equal up to order."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes import cdi_runtime
from fakes.driver_root import link, put
from fakes.elf import library
from gpu_core.cdi.driver import DriverSearch, find_driver, find_extras
from gpu_core.cdi.driver_files import CharDevice, DeviceLink, DriverFiles
from gpu_core.cdi.hooks import Hooks
from gpu_core.cdi.host_paths import HostPaths
from gpu_core.cdi.model import Spec, document, required_version
from gpu_core.cdi.names import CdiClass, file_name
from gpu_core.cdi.spec import SpecOptions, extra_spec, gpu_spec, imex_spec
from gpu_core.config.load import load
from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.words import DeviceDiscoveryStrategy, MigStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.device_nodes import ImexChannel
from gpu_core.devices.model import Inventory
from gpu_core.devices.simulated.files import load_node

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = {case["id"]: case for case in json.loads((GOLDEN / "cdi" / "specs.json").read_text())["cases"]}

NUMBERS = {
    "nvidiactl": (195, 255),
    "nvidia-modeset": (195, 254),
    "nvidia-uvm": (510, 0),
    "nvidia-uvm-tools": (510, 1),
    "gdrdrv": (239, 0),
    "infiniband/uverbs0": (231, 192),
    "infiniband/rdma_cm": (10, 60),
}
MAJORS = (
    (r"nvidia(\d+)", 195),
    (r"nvidia-caps/nvidia-cap(\d+)", 237),
    (r"nvidia-fs(\d+)", 240),
    (r"dri/card(\d+)", 226),
    (r"dri/renderD(\d+)", 226),
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_equals_the_original(case: dict[str, Any], tmp_path: Path) -> None:
    root = lay_out(case["driver_root_files"], tmp_path)
    loaded = load(DEVICE_PLUGIN, case["args"], case["env"])
    inventory = read(case["topology"])
    made = {
        file_name(cdi_class): document(spec, required_version(spec))
        for cdi_class, spec in specs(case, root, inventory, loaded.config, frozenset(loaded.settings.cdi_disable_hooks))
    }
    wanted = {name: {k: v for k, v in spec.items() if k != "__mode"} for name, spec in expected(case).items()}
    seen = json.loads(json.dumps(made).replace(str(root), case["driver_root_at"]))
    assert canonical(seen) == canonical(wanted)
    for spec in made.values():
        cdi_runtime.check(spec)


def specs(
    case: dict[str, Any], root: Path, inventory: Inventory, config: Config, disabled: frozenset[str]
) -> Iterator[tuple[CdiClass, Spec]]:
    if not any(strategy.is_cdi for strategy in config.flags.plugin.device_list_strategy):
        return
    dev_in_root = case["device_nodes_at"] == case["driver_root_at"]
    dev_root = str(root) if dev_in_root else "/"
    search = DriverSearch(
        root=str(root),
        dev_root=dev_root,
        version=inventory.driver_version,
        machine="x86_64",
        release="6.1",
        sys_root="/-",
    )
    options = SpecOptions(
        hooks=Hooks(tool=config.flags.plugin.nvidia_ctk_path, disabled=disabled),
        id_strategy=config.flags.plugin.device_id_strategy,
        mig_parents=config.flags.mig_strategy is MigStrategy.NONE,
    )
    roots = HostPaths(
        seen_driver=str(root),
        host_driver=config.flags.nvidia_driver_root,
        seen_dev=dev_root,
        host_dev=config.flags.dev_root,
    )
    channels = [
        ImexChannel(number=number, path=path, seen=f"{dev_root.rstrip('/')}{path}")
        for number in config.imex.channel_ids
        for path in [f"/dev/nvidia-caps-imex-channels/channel{number}"]
    ]
    extras = with_nodes(find_extras(str(root), "/-"), case, dev_root, inventory)
    made = {
        CdiClass.GPU: gpu_spec(inventory, with_nodes(find_driver(search), case, dev_root, inventory), options),
        CdiClass.IMEX_CHANNEL: imex_spec(channels),
        CdiClass.GDRCOPY: extra_spec(CdiClass.GDRCOPY, extras, options) if config.flags.gdrcopy_enabled else None,
        CdiClass.GDS: extra_spec(CdiClass.GDS, extras, options) if config.flags.gds_enabled else None,
        CdiClass.MOFED: extra_spec(CdiClass.MOFED, extras, options) if config.flags.mofed_enabled else None,
    }
    for cdi_class, spec in made.items():
        if spec is not None:
            yield cdi_class, roots.on_host(spec)


def expected(case: dict[str, Any]) -> dict[str, Any]:
    files: dict[str, Any] = case["expect"]["files"]
    return files


def read(topology: str) -> Inventory:
    node = load_node(str(GOLDEN / "topologies" / f"{topology}.yaml"))
    backend = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, simulated=node)
    try:
        return backend.read()
    finally:
        backend.close()


def lay_out(entries: list[str], root: Path) -> Path:
    """Make the recorded driver root; only the management library was a real one."""
    for entry in entries:
        path, _, target = entry.partition(" -> ")
        if target:
            link(root, path, target)
        elif "/libnvidia-ml.so." in path:
            put(root, path, library("libnvidia-ml.so.1"), 0o755)
        else:
            put(root, path, mode=0o755 if path.startswith("usr/bin/") else 0o644)
    return root


def with_nodes(files: DriverFiles, case: dict[str, Any], dev_root: str, inventory: Inventory) -> DriverFiles:
    """Add the device nodes of the recording, which only root could make here."""
    prefix = dev_root.rstrip("/")
    plain = [name for name in case["device_nodes"] if " -> " not in name]
    drm: dict[str, tuple[str, ...]] = {}
    if case.get("drm"):
        # The recording gave the n-th GPU the nodes card<n + 1> and renderD<128 + n>.
        for gpu in inventory.gpus:
            assert gpu.pci is not None
            drm[gpu.pci.address] = (f"card{gpu.index + 1}", f"renderD{128 + gpu.index}")
    return replace(
        files,
        devices=tuple(
            CharDevice(seen=f"{prefix}/dev/{name}", path=f"/dev/{name}", major=numbers[0], minor=numbers[1])
            for name in plain
            if (numbers := numbers_of(name)) is not None
        ),
        device_links=tuple(
            DeviceLink(seen=f"{prefix}/dev/{name}", target=target)
            for name, _, target in (entry.partition(" -> ") for entry in case["device_nodes"])
            if target
        ),
        drm_nodes=tuple(drm.items()),
    )


def numbers_of(name: str) -> tuple[int, int] | None:
    if name in NUMBERS:
        return NUMBERS[name]
    for pattern, major in MAJORS:
        match = re.fullmatch(pattern, name)
        if match:
            return major, int(match[1])
    return None


def canonical(value: Any) -> Any:
    """Return the value with its lists in one order, but for the words of a command."""
    if isinstance(value, dict):
        return {key: value[key] if key == "args" else canonical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return sorted((canonical(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value
