"""Nodes read through the real NVML binding."""

from __future__ import annotations

import pytest

from core.devices.nodes import TOPOLOGIES, node, opened, topology
from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.model import (
    Fabric,
    Gpu,
    Inventory,
    LinkLevel,
    MigAttributes,
    MigDevice,
    PairLink,
    PciFacts,
    Platform,
)
from gpu_core.devices.simulated.files import describe_nodes, load_node, node_names
from gpu_core.errors import DriverMissingError

MIB = 1 << 20
CONFIG = bytes.fromhex("de10b020000010").ljust(0x34, b"\0") + b"@".ljust(12, b"\0") + b"\x10".ljust(192, b"\0")


def test_every_fact_of_a_mig_gpu_is_read() -> None:
    with opened(topology("a100-mig-ci")) as backend:
        found = backend.read(links=True)
    parent = "GPU-0fc2d551-d999-5a64-8ae4-71244bd9fa3e"
    parts = [
        ("MIG-20b3bd58-b5df-58a1-aadd-a5c910b1cf28", 1, 0),
        ("MIG-aebfcee9-c521-5c3e-a46b-75083249366b", 1, 1),
        ("MIG-3a2624cb-93b3-52af-871f-df743c3bfbbe", 1, 2),
    ]
    shares = tuple(
        MigDevice(
            index=index,
            uuid=uuid,
            parent_uuid=parent,
            parent_index=0,
            gpu_instance=instance,
            compute_instance=compute,
            profile="1c.3g.20gb",
            instance_profile="3g.20gb",
            attributes=MigAttributes(
                memory_mib=19968,
                multiprocessors=14,
                gpu_instance_slices=3,
                compute_instance_slices=1,
                copy_engines=3,
                decoders=2,
            ),
            capability_minors=(12, 13 + compute),
        )
        for index, (uuid, instance, compute) in enumerate(parts)
    )
    whole = MigDevice(
        index=3,
        uuid="MIG-699c50c2-6c8d-5773-b175-8dcd3e7f4ab1",
        parent_uuid=parent,
        parent_index=0,
        gpu_instance=3,
        compute_instance=0,
        profile="2g.10gb",
        instance_profile="2g.10gb",
        attributes=MigAttributes(
            memory_mib=9856,
            multiprocessors=28,
            gpu_instance_slices=2,
            compute_instance_slices=2,
            copy_engines=2,
            decoders=1,
        ),
        capability_minors=(30, 31),
    )
    pci = PciFacts(
        address="0000:07:00.0", vendor=0x10DE, device=0x20B0, class_code=0x030200, numa_node=0, config=CONFIG
    )
    assert found == Inventory(
        platform=Platform.NVML,
        driver_version="550.90.07",
        cuda_version=(12, 4),
        links=((PairLink(),),),
        gpus=(
            Gpu(
                index=0,
                uuid=parent,
                name="NVIDIA A100-SXM4-40GB",
                minor=0,
                pci_bus_id="00000000:07:00.0",
                pci=pci,
                numa_node=0,
                memory=40960 * MIB,
                compute_capability=(8, 0),
                brand=14,
                mig_capable=True,
                mig_enabled=True,
                mig_max=7,
                mig_devices=(*shares, whole),
            ),
        ),
    )


@pytest.mark.parametrize("name", sorted(path.stem for path in TOPOLOGIES.glob("*.yaml")))
def test_no_recorded_topology_has_faults(name: str) -> None:
    with opened(topology(name)) as backend:
        found = backend.read(links=True)
    assert (found.unreadable, [gpu for gpu in found.gpus if gpu.faults]) == ((), [])


@pytest.mark.parametrize(
    ("name", "profiles"),
    [
        ("a100-mig-1g", ["1g.5gb"] * 7),
        ("a100-mig-7g", ["7g.40gb"]),
        ("a100-mig-me", ["1g.5gb+me", *["1g.5gb"] * 6]),
        ("a100-mig-legacy", ["3g.20gb"] * 2),
        ("a30-mig-mixed", ["2g.12gb", "1g.6gb", "1g.6gb"]),
        ("b200-mig", [*["1g.23gb"] * 4, "3g.90gb"]),
        ("h100-mig-mixed", ["1g.20gb", "1g.10gb", "1g.10gb", "3g.40gb"]),
        ("h200-mig", ["1g.18gb", "1g.18gb", "1g.35gb", "3g.71gb"]),
        ("rtxpro-mig-gfx", ["1g.24gb+gfx", "1g.24gb-me", "2g.48gb"]),
    ],
)
def test_mig_profiles_have_the_names_that_nvidia_gives_them(name: str, profiles: list[str]) -> None:
    with opened(topology(name)) as backend:
        assert [mig.profile for mig in backend.read().gpus[0].mig_devices] == profiles


def test_a_profile_of_three_slices_with_graphics_has_a_name() -> None:
    document = {"gpus": [{"model": "RTX-PRO-6000", "mig": {"enabled": True, "devices": ["3g.72gb+gfx"]}}]}
    with opened(node(document)) as backend:
        assert [mig.profile for mig in backend.read().gpus[0].mig_devices] == ["3g.72gb+gfx"]


def test_bridges_count_by_direction_and_links_into_switches_for_both() -> None:
    links = {"default": "NODE", "nvlinks": {"pairs": {"0-1": 2}, "oneway": {"1-0": 1}, "switch": 4}}
    with opened(node({"gpus": [{"model": "H100", "count": 2}], "links": links})) as backend:
        found = backend.read(links=True).links
    ahead = PairLink(level=LinkLevel.NODE, nvlinks=2, switched=4)
    back = PairLink(level=LinkLevel.NODE, nvlinks=1, switched=4)
    assert found == ((PairLink(), ahead), (back, PairLink()))


def test_a_pci_domain_of_more_than_four_digits_is_found_in_sysfs() -> None:
    with opened(node({"gpus": [{"model": "T4", "bus_id": "00010000:07:00.0", "numa": 1}]})) as backend:
        gpu = backend.read().gpus[0]
    assert (gpu.pci_bus_id, gpu.pci and gpu.pci.address, gpu.numa_node) == ("00010000:07:00.0", "10000:07:00.0", 1)


def test_fabric_and_coherent_memory_are_read() -> None:
    with opened(load_node("gb200x4")) as backend:
        gpus = backend.read().gpus
    cluster = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31"
    assert {(gpu.fabric, gpu.coherent_memory) for gpu in gpus} == {
        (Fabric(state=3, status=0, clique=32766, cluster_uuid=cluster), True)
    }


def test_memory_that_the_driver_gives_no_figure_for_is_no_fault() -> None:
    with opened(load_node("gb10")) as backend:
        gpu = backend.read().gpus[0]
    assert (gpu.memory, gpu.faults) == (None, ())


def test_gpus_that_share_one_node_have_no_numbers_which_is_no_fault() -> None:
    with opened(load_node("wsl")) as backend:
        gpu = backend.read().gpus[0]
    assert (gpu.minor, gpu.faults) == (None, ())


def test_a_tegra_chip_is_described_by_cuda() -> None:
    with opened(load_node("jetson")) as backend:
        found = backend.read(links=True)
    chip = Gpu(index=0, uuid="tegra", name="Orin", memory=62840 * MIB, compute_capability=(8, 7))
    assert (found, backend.monitor()) == (
        Inventory(platform=Platform.TEGRA, gpus=(chip,), cuda_version=(12, 2), mig_minors_known=False),
        None,
    )


def test_a_tegra_chip_without_cuda_says_so_in_the_inventory() -> None:
    with opened(topology("tegra-thor")) as backend:
        found = backend.read()
    assert ([str(fault) for fault in found.faults], found.gpus) == (["cuInit failed with LIBRARY_NOT_FOUND"], ())


def test_gpus_of_virtual_machines_are_named_when_asked_for() -> None:
    document = {"platform": "vfio", "gpus": [{"model": "A30", "count": 2, "numa": 1}]}
    with opened(node(document), strategy=DeviceDiscoveryStrategy.VFIO) as backend:
        found = backend.read()
    assert [(gpu.uuid, gpu.name, gpu.numa_node) for gpu in found.gpus] == [
        ("0000:07:00.0", "NVIDIA A30", 1),
        ("0000:0f:00.0", "NVIDIA A30", 1),
    ]
    with pytest.raises(DriverMissingError, match="bound to vfio-pci"), opened(node(document)):
        pass


@pytest.mark.parametrize("name", node_names())
def test_a_node_of_the_package_opens_and_says_what_it_is(name: str) -> None:
    with opened(load_node(name)) as backend:
        found = backend.read(links=True)
    assert found.unreadable == ()
    assert 10 < len(dict(describe_nodes())[name]) < 90
