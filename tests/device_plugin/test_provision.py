"""What containers are given besides their devices: CDI specifications on disk, and other ways without them."""

import json
from pathlib import Path

import pytest

from device_plugin.allocation.provision import provide
from fakes import cdi_runtime
from gpu_core.cdi.names import CdiClass, file_name
from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.words import DeviceListStrategy
from gpu_core.devices.model import Inventory, Platform
from gpu_core.devices.simulated.files import load_node
from gpu_core.errors import CdiError
from gpu_core.hardware.source import NodeSource, simulated_source

SIMULATED = simulated_source(load_node("t4"))


def read() -> Inventory:
    backend = SIMULATED.open(load(DEVICE_PLUGIN, [], {}).config)
    try:
        return backend.read()
    finally:
        backend.close()


def real(driver_root: Path) -> tuple[NodeSource, list[str]]:
    """Return a node whose files are looked for, and the flag that says where."""
    return NodeSource(open=SIMULATED.open, exists=lambda _: False), [f"--driver-root-ctr-path={driver_root}"]


def test_specifications_are_on_disk_before_anything_is_served(tmp_path: Path) -> None:
    loaded = load(DEVICE_PLUGIN, ["--device-list-strategy=cdi-cri", "--gds-enabled"], {})
    given = provide(read(), loaded.config, loaded.settings, SIMULATED, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [file_name(CdiClass.GPU)]
    cdi_runtime.check(json.loads((tmp_path / file_name(CdiClass.GPU)).read_text()))
    # The node has no nvidia-fs device, so no container is told of one.
    assert given.rules.cdi_extras == ()
    assert given.warnings == ()


def test_other_strategies_go_on_when_there_is_no_driver_to_describe(tmp_path: Path) -> None:
    source, flags = real(tmp_path / "missing")
    loaded = load(DEVICE_PLUGIN, ["--device-list-strategy=envvar,cdi-cri", *flags], {})
    given = provide(read(), loaded.config, loaded.settings, source, tmp_path / "cdi")
    assert given.rules.strategies == (DeviceListStrategy.ENVVAR,)
    assert [warning.partition(",")[0] for warning in given.warnings] == [
        f"The driver root {tmp_path}/missing does not exist"
    ]


def test_cdi_alone_cannot_go_on_without(tmp_path: Path) -> None:
    source, flags = real(tmp_path / "missing")
    loaded = load(DEVICE_PLUGIN, ["--device-list-strategy=cdi-annotations,cdi-cri", *flags], {})
    with pytest.raises(CdiError, match="does not exist"):
        provide(read(), loaded.config, loaded.settings, source, tmp_path / "cdi")


def test_without_cdi_nothing_is_looked_for_or_written(tmp_path: Path) -> None:
    source, flags = real(tmp_path / "missing")
    loaded = load(DEVICE_PLUGIN, flags, {})
    given = provide(read(), loaded.config, loaded.settings, source, tmp_path / "cdi")
    assert given.warnings == ()
    assert not (tmp_path / "cdi").exists()


def test_a_tegra_system_without_lists_of_its_files_is_served_with_a_warning(tmp_path: Path) -> None:
    source, flags = real(tmp_path)
    loaded = load(DEVICE_PLUGIN, ["--device-list-strategy=cdi-cri", "--device-id-strategy=index", *flags], {})
    given = provide(Inventory(platform=Platform.TEGRA), loaded.config, loaded.settings, source, tmp_path / "cdi")
    assert given.rules.strategies == (DeviceListStrategy.CDI_CRI,)
    assert [warning.partition(" was")[0] for warning in given.warnings] == [
        "No /etc/nvidia-container-runtime/host-files-for-container.d"
    ]
