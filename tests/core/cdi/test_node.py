"""All specifications of a node, from what the config asks for and what is installed, into files and back."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import cdi_runtime, driver_root
from gpu_core.cdi.driver import DriverSearch, find_driver
from gpu_core.cdi.model import Spec
from gpu_core.cdi.names import CdiClass, file_name
from gpu_core.cdi.simulated import simulated_driver
from gpu_core.cdi.spec import gpu_spec
from gpu_core.cdi.specs import CdiRequest, node_specs, spec_warnings
from gpu_core.cdi.write import text, write_specs
from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.device_nodes import ImexChannel
from gpu_core.devices.model import CudaCompat, Inventory, Platform
from gpu_core.devices.simulated.files import load_node, node_names
from gpu_core.errors import CdiError

CDI = "--device-list-strategy=cdi-cri"


def inventory(node: str) -> Inventory:
    backend = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, simulated=load_node(node))
    try:
        return backend.read()
    finally:
        backend.close()


def request(*flags: str, root: Path | None = None, simulated: bool = False, features: Sequence[str] = ()) -> CdiRequest:
    loaded = load(DEVICE_PLUGIN, [CDI, *flags], {})
    return CdiRequest(
        config=loaded.config,
        driver_root=str(root or "/driver-root"),
        features=frozenset(features),
        channels=(ImexChannel(number=0, path="/dev/nvidia-caps-imex-channels/channel0", seen="/x/channel0"),),
        simulated=simulated,
    )


def devices(spec: Spec | None) -> list[str]:
    assert spec is not None
    cdi_runtime.check(json.loads(text(spec)))
    return [device.name for device in spec.devices]


@pytest.mark.parametrize("node", sorted(set(node_names()) - {"nogpu", "jetson", "wsl"}))
def test_every_simulated_node_names_what_it_would_advertise(node: str) -> None:
    found = inventory(node)
    spec = node_specs(found, request("--mig-strategy=mixed", simulated=True))[CdiClass.GPU]
    wanted = [gpu.uuid for gpu in found.gpus if not gpu.mig_enabled]
    wanted += [mig.uuid for gpu in found.gpus for mig in gpu.mig_devices]
    assert (devices(spec) if wanted else spec) == (sorted(wanted) or None)


def test_a_simulated_gpu_that_does_not_tell_its_minor_number_has_no_device_node_of_its_own() -> None:
    found = inventory("t4")
    nodes = [
        [device.path for device in simulated_driver(replace(found, gpus=gpus)).devices]
        for gpus in (found.gpus, (replace(found.gpus[0], minor=None),))
    ]
    shared = ["/dev/nvidiactl", "/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
    assert nodes == [[*shared, "/dev/nvidia0"], shared]


def test_every_class_that_is_asked_for_has_an_answer() -> None:
    flags = ("--imex-channel-ids=0", "--gdrcopy-enabled", "--gds-enabled", "--mofed-enabled")
    specs = node_specs(inventory("gb200x4"), request(*flags, simulated=True))
    assert {cdi_class: spec is not None for cdi_class, spec in specs.items()} == {
        CdiClass.GPU: True,
        CdiClass.IMEX_CHANNEL: True,
        # A simulated node has none of these devices.
        CdiClass.GDRCOPY: False,
        CdiClass.GDS: False,
        CdiClass.MOFED: False,
    }


def test_every_host_path_exists_or_is_a_device_of_the_node(tmp_path: Path) -> None:
    root = driver_root.driver_container(tmp_path)
    found = inventory("a100x4-pcie")
    search = DriverSearch(
        root=str(root), dev_root=str(root), version=found.driver_version, machine="x86_64", release="6.1", sys_root="/-"
    )
    # Only root may make device nodes, so those of a simulated node stand for them.
    files = replace(find_driver(search), devices=simulated_driver(found).devices)
    spec = gpu_spec(found, files, request(root=root).options)
    assert devices(spec) == sorted(gpu.uuid for gpu in found.gpus)
    assert spec is not None
    assert spec.edits.mounts
    for mount in spec.edits.mounts:
        assert Path(mount.host_path).exists()
        assert mount.host_path.startswith(f"{root}/")
    known = {device.path for device in files.devices}
    assert {node.path for device in spec.devices for node in device.edits.device_nodes} <= known


def test_a_gpu_without_its_node_is_left_out_and_all_of_them_are_an_error(tmp_path: Path) -> None:
    root = driver_root.driver_container(tmp_path)
    found = inventory("a100x4-pcie")
    files = simulated_driver(found)
    lacking = replace(files, devices=tuple(node for node in files.devices if node.path != "/dev/nvidia2"))
    spec = gpu_spec(found, lacking, request().options)
    assert devices(spec) == sorted(gpu.uuid for gpu in found.gpus if gpu.minor != 2)
    with pytest.raises(CdiError, match=r"None of /dev/nvidia0, .* was found below .*--dev-root"):
        node_specs(found, request(root=root))


def test_a_node_without_gpus_needs_no_driver(tmp_path: Path) -> None:
    empty = Inventory(platform=Platform.NVML)
    assert node_specs(empty, request(root=tmp_path / "missing")) == {CdiClass.GPU: None}


def test_a_jetson_is_named_as_the_plugin_names_it(tmp_path: Path) -> None:
    root = driver_root.tegra(tmp_path)
    # The dev root is the driver root where that has a /dev, and /dev/null stands for the chip's device here.
    compat = CudaCompat(version=(13, 0))
    tegra = Inventory(platform=Platform.TEGRA, cuda_version=(12, 6), cuda_compat=compat)
    assert spec_warnings(tegra, request(root=root)) == ()
    assert spec_warnings(tegra, request(root=root / "missing")) != ()
    spec = node_specs(tegra, request(root=root))[CdiClass.GPU]
    assert spec is not None
    assert [hook.args[3] for hook in spec.edits.hooks if "enable-cuda-compat" in hook.args] == [
        "--host-cuda-version=13.0"
    ]
    assert devices(node_specs(tegra, request(root=root))[CdiClass.GPU]) == ["tegra"]
    assert devices(node_specs(tegra, request("--device-id-strategy=index", root=root))[CdiClass.GPU]) == ["0"]


@pytest.mark.skipif(Path("/dev/dxg").exists(), reason="this machine is WSL itself")
def test_wsl_without_its_device_is_told_clearly(tmp_path: Path) -> None:
    wsl = Inventory(platform=Platform.WSL)
    with pytest.raises(CdiError, match="/dev/dxg was not found"):
        node_specs(wsl, request(root=driver_root.wsl(tmp_path)))


def test_device_folders_are_opened_on_request() -> None:
    asked = request("--mig-strategy=mixed", simulated=True, features=["enable-chmod-hook"])
    spec = node_specs(inventory("a100-mig-uniform"), asked)[CdiClass.GPU]
    assert spec is not None
    assert [hook.args[2:] for hook in spec.devices[0].edits.hooks] == [
        ("chmod", "--mode", "755", "--path", "/dev/nvidia-caps")
    ]


def test_files_are_written_kept_and_removed(tmp_path: Path) -> None:
    directory = tmp_path / "run" / "cdi"
    specs = node_specs(inventory("t4"), request(simulated=True))
    other = directory / "vendor.com-net.json"
    assert write_specs(specs, directory) == (CdiClass.GPU,)
    other.write_text("{}")
    file = directory / file_name(CdiClass.GPU)
    assert file.stat().st_mode & 0o777 == 0o644
    cdi_runtime.check(json.loads(file.read_text()))
    before = file.stat().st_mtime_ns
    write_specs(specs, directory)
    assert file.stat().st_mtime_ns == before
    assert write_specs({CdiClass.GPU: None, CdiClass.GDS: None}, directory) == ()
    assert sorted(directory.iterdir()) == [other]


def test_a_directory_that_cannot_be_made_is_told_clearly(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CdiError, match=r"cannot be written to .*Mount the host's"):
        write_specs({CdiClass.GPU: None}, tmp_path / "file" / "cdi")
