from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.devices.model import PciFacts
from gpu_core.labels import NodeFacts
from gpu_feature_discovery.machine import machine_type, nvidia_functions, read_facts

DMI = "sys/class/dmi/id/product_name"


def write(root: Path, path: str, data: bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({DMI: b"DGX H100\n"}, "DGX H100", id="DMI"),
        pytest.param({DMI: b"  \n"}, "", id="DMI without a name"),
        pytest.param({DMI: b"Gr\xf6\xdfe\n"}, "Gr��e", id="DMI in another encoding"),
        pytest.param({"proc/device-tree/model": b"Jetson AGX Orin\0"}, "Jetson AGX Orin", id="a device tree"),
        pytest.param(
            {"sys/firmware/devicetree/base/model": b"Jetson AGX Orin\0"}, "Jetson AGX Orin", id="a device tree in sysfs"
        ),
        pytest.param({DMI: b"Box\n", "proc/device-tree/model": b"Board\0"}, "Box", id="DMI before a device tree"),
    ],
)
def test_machine_type(tmp_path: Path, files: dict[str, bytes], expected: str) -> None:
    for path, data in files.items():
        write(tmp_path, path, data)
    warnings: list[str] = []
    assert machine_type(f"/{DMI}", device_tree=True, root=tmp_path, warn=warnings.append) == expected
    assert warnings == []


def test_a_machine_without_a_type_is_unknown(tmp_path: Path) -> None:
    warnings: list[str] = []
    assert machine_type(f"/{DMI}", device_tree=True, root=tmp_path, warn=warnings.append) == "unknown"
    assert warnings == [
        f"The machine type file /{DMI} cannot be read (No such file or directory), so gpu.machine is unknown."
    ]


def test_a_file_that_was_asked_for_is_not_replaced_by_the_device_tree(tmp_path: Path) -> None:
    write(tmp_path, "proc/device-tree/model", b"Board\0")
    assert machine_type("/absent", device_tree=False, root=tmp_path, warn=lambda _: None) == "unknown"


def test_a_relative_path_is_relative_to_where_we_are(tmp_path: Path) -> None:
    write(tmp_path, "name", b"Box\n")
    path = os.path.relpath(tmp_path / "name")
    assert machine_type(path, device_tree=False, root=Path("/nowhere"), warn=lambda _: None) == "Box"


def test_neither_a_pipe_nor_an_endless_device_holds_us_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    warnings: list[str] = []
    assert machine_type("/pipe", device_tree=False, root=tmp_path, warn=warnings.append) == "unknown"
    assert machine_type("/dev/zero", device_tree=False, warn=warnings.append) == "unknown"
    assert ["(it is a named pipe" in warnings[0], "(it is a device" in warnings[1]] == [True, True]


def test_no_file_means_unknown_without_a_warning(tmp_path: Path) -> None:
    warnings: list[str] = []
    assert machine_type("", device_tree=True, root=tmp_path, warn=warnings.append) == "unknown"
    assert warnings == []


@given(st.binary(max_size=200))
def test_any_machine_file_is_text(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("node")
    write(root, DMI, data)
    assert isinstance(machine_type(f"/{DMI}", device_tree=True, root=root, warn=print), str)


def function(root: Path, address: str, vendor: str, config: bytes | None, code: str = "") -> None:
    write(root, f"sys/bus/pci/devices/{address}/vendor", f"{vendor}\n".encode())
    if code:
        write(root, f"sys/bus/pci/devices/{address}/class", f"{code}\n".encode())
    if config is not None:
        write(root, f"sys/bus/pci/devices/{address}/config", config)


def test_only_nvidias_functions_are_found(tmp_path: Path) -> None:
    function(tmp_path, "0000:07:00.1", "0x10de", bytes(64))
    function(tmp_path, "0000:07:00.0", "0x10de", bytes(4096), "0x030200")
    function(tmp_path, "0000:00:1f.0", "0x8086", bytes(256))
    function(tmp_path, "0000:08:00.0", "0x10de", None)
    (tmp_path / "sys/bus/pci/devices/0000:09:00.0").mkdir()
    assert nvidia_functions(tmp_path) == (
        PciFacts(address="0000:07:00.0", vendor=0x10DE, class_code=0x030200, config=bytes(256)),
        PciFacts(address="0000:07:00.1", vendor=0x10DE, config=bytes(64)),
        PciFacts(address="0000:08:00.0", vendor=0x10DE),
    )


def test_a_node_without_a_pci_bus(tmp_path: Path) -> None:
    assert nvidia_functions(tmp_path) is None


def test_a_directory_in_place_of_a_file_reads_as_nothing(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices/0000:07:00.0/vendor").mkdir(parents=True)
    assert nvidia_functions(tmp_path) == ()


def test_facts_together(tmp_path: Path) -> None:
    write(tmp_path, DMI, b"DGX H100\n")
    function(tmp_path, "0000:07:00.0", "0x10de", bytes(256))
    facts = read_facts(f"/{DMI}", timestamp=7, device_tree=True, root=tmp_path, warn=print)
    assert facts == NodeFacts(
        timestamp=7,
        machine_type="DGX H100",
        pci=(PciFacts(address="0000:07:00.0", vendor=0x10DE, config=bytes(256)),),
    )


@pytest.mark.parametrize(
    ("functions", "files", "expected"),
    [
        pytest.param([("0x10de", "0x030200")], {}, True, id="a data centre GPU"),
        pytest.param([("0x8086", "0x030000"), ("0x10de", "0x030000")], {}, True, id="a graphics card beside another"),
        pytest.param([("0x10de", "0x040300"), ("0x10de", "0x068000")], {}, False, id="sound and an NVSwitch"),
        pytest.param([("0x8086", "0x030000")], {}, False, id="another maker's"),
        pytest.param([("0x10de", "?")], {}, False, id="a class that cannot be read"),
        pytest.param([], {"sys/devices/soc0/family": b"Tegra\n"}, True, id="a Tegra chip, which is on no bus"),
        pytest.param([], {}, False, id="no bus at all"),
    ],
)
def test_a_gpu_is_seen_without_its_driver(
    tmp_path: Path, functions: list[tuple[str, str]], files: dict[str, bytes], expected: bool
) -> None:
    for number, (vendor, code) in enumerate(functions):
        function(tmp_path, f"0000:{number:02x}:00.0", vendor, bytes(64), code)
    for path, data in files.items():
        write(tmp_path, path, data)
    facts = read_facts("", timestamp=7, device_tree=False, seek_gpus=True, root=tmp_path, warn=print)

    assert facts.shows_gpu is expected
