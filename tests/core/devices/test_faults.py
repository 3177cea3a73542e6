"""One GPU's failing calls: what is lost, and that the neighbours lose nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.devices.nodes import node, opened, say, topology
from gpu_core.devices.model import Fault, Gpu, Inventory, UnreadableGpu, UnreadableMig
from gpu_core.devices.simulated.files import load_node
from gpu_core.errors import NvmlCallError

CODES = ["GPU_IS_LOST", "UNKNOWN", "NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "TIMEOUT"]
IDENTITY = ["DeviceGetHandleByIndex", "DeviceGetUUID"]
NEEDED = {
    "DeviceGetName": "name",
    "DeviceGetMinorNumber": "minor",
    "DeviceGetCudaComputeCapability": "compute_capability",
}
OPTIONAL: dict[str, dict[str, Any]] = {
    "DeviceGetMemoryInfo": {"memory": None},
    "DeviceGetBrand": {"brand": None},
    "DeviceGetAddressingMode": {"coherent_memory": False},
}


def read(tmp_path: Path, *lines: str, links: bool = False) -> Inventory:
    """Read four GPUs after something happened to them."""
    events = tmp_path / "events"
    say(events, *lines)
    with opened(load_node("gb200x4"), events) as backend:
        return backend.read(links=links)


@pytest.fixture(scope="module")
def intact() -> Inventory:
    """Read the same GPUs in health."""
    with opened(load_node("gb200x4")) as backend:
        return backend.read(links=True)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", IDENTITY)
def test_a_gpu_without_identity_is_counted_and_no_more(tmp_path: Path, intact: Inventory, call: str, code: str) -> None:
    found = read(tmp_path, f"fail {call} 2 {code}")
    assert found.unreadable == (UnreadableGpu(index=2, fault=Fault(call=call, code=code)),)
    assert found.gpus == (*intact.gpus[:2], intact.gpus[3])


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", NEEDED)
def test_an_essential_fact_that_fails_is_a_fault_of_that_gpu(
    tmp_path: Path, intact: Inventory, call: str, code: str
) -> None:
    found = read(tmp_path, f"fail {call} 2 {code}")
    absent: dict[str, Any] = {NEEDED[call]: None}
    faulty = replace(intact.gpus[2], **absent, faults=(Fault(call=call, code=code),))
    assert found.gpus == (*intact.gpus[:2], faulty, intact.gpus[3])


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", OPTIONAL)
def test_an_optional_fact_that_fails_is_absent(tmp_path: Path, intact: Inventory, call: str, code: str) -> None:
    found = read(tmp_path, f"fail {call} 2 {code}")
    assert found.gpus == (*intact.gpus[:2], replace(intact.gpus[2], **OPTIONAL[call]), intact.gpus[3])


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    ("call", "absent"),
    [
        ("DeviceGetPciInfo", {"pci_bus_id": None, "pci": None, "numa_node": None}),
        ("DeviceGetMigMode", {"mig_capable": False, "mig_max": 0}),
    ],
)
def test_a_fact_that_not_every_gpu_has_is_a_fault_only_when_it_is_lost(
    tmp_path: Path, intact: Inventory, call: str, code: str, absent: dict[str, Any]
) -> None:
    found = read(tmp_path, f"fail {call} 2 {code}")
    faults = () if code in ("NOT_SUPPORTED", "FUNCTION_NOT_FOUND") else (Fault(call=call, code=code),)
    facts: Gpu = replace(intact.gpus[2], **absent, faults=faults)
    assert found.gpus == (*intact.gpus[:2], facts, intact.gpus[3])


@pytest.mark.parametrize("code", CODES)
def test_a_fabric_that_cannot_be_read_is_a_gap_and_no_fault(tmp_path: Path, intact: Inventory, code: str) -> None:
    found = read(tmp_path, f"fail DeviceGetGpuFabricInfo 2 {code}")
    absent = code in ("NOT_SUPPORTED", "FUNCTION_NOT_FOUND")
    gaps = () if absent else (Fault(call="DeviceGetGpuFabricInfo", code=code),)
    assert found.gpus == (*intact.gpus[:2], replace(intact.gpus[2], fabric=None, gaps=gaps), intact.gpus[3])


@pytest.mark.parametrize("call", ["SystemGetDriverVersion", "SystemGetCudaDriverVersion"])
def test_a_failing_version_is_a_fault_of_the_node(tmp_path: Path, intact: Inventory, call: str) -> None:
    found = read(tmp_path, f"fail {call} * UNKNOWN")
    assert (found.faults, found.gpus) == ((Fault(call=call, code="UNKNOWN"),), intact.gpus)


def test_links_of_a_lost_gpu_are_unknown_and_others_stay(tmp_path: Path, intact: Inventory) -> None:
    lost = read(tmp_path, "fail DeviceGetTopologyCommonAncestor 2 GPU_IS_LOST", links=True).links
    assert [link.level for link in lost[2]] == [None] * 4
    assert lost[0] == intact.links[0]


@pytest.mark.parametrize("call", ["DeviceGetNvLinkState", "DeviceGetNvLinkRemotePciInfo"])
def test_nvlinks_that_cannot_be_read_count_for_nothing(tmp_path: Path, call: str) -> None:
    events = tmp_path / "events"
    say(events, f"fail {call} 0 GPU_IS_LOST")
    with opened(topology("a100x8"), events) as backend:
        links = backend.read(links=True).links
    assert ([link.nvlinks for link in links[0]], links[1][0].nvlinks) == ([0] * 8, 2)


@pytest.mark.parametrize("call", ["DeviceGetGpuInstanceId", "DeviceGetComputeInstanceId", "DeviceGetAttributes"])
def test_a_failing_mig_device_leaves_its_siblings_alone(tmp_path: Path, call: str) -> None:
    events = tmp_path / "events"
    events.touch()
    with opened(topology("a100-mig-mixed"), events) as backend:
        before = backend.read().gpus[0]
        say(events, f"fail {call} 0:1 UNKNOWN")
        after = backend.read().gpus[0]
    assert after.faults == ()
    assert after.mig_devices[1].faults == (Fault(call=call, code="UNKNOWN"),)
    assert [after.mig_devices[place] for place in (0, 2, 3)] == [before.mig_devices[place] for place in (0, 2, 3)]


@pytest.mark.parametrize(
    ("line", "fault", "left"),
    [
        pytest.param("fail DeviceGetUUID 0:1 UNKNOWN", "DeviceGetUUID", [0, 2, 3], id="one without a UUID"),
        pytest.param(
            "fail DeviceGetMigDeviceHandleByIndex 0 UNKNOWN count=1",
            "DeviceGetMigDeviceHandleByIndex",
            [1, 2, 3],
            id="one",
        ),
    ],
)
def test_a_mig_device_that_cannot_be_named_leaves_its_place_unreadable_and_its_neighbours_alone(
    tmp_path: Path, line: str, fault: str, left: list[int]
) -> None:
    events = tmp_path / "events"
    say(events, line)
    with opened(topology("a100-mig-mixed"), events) as backend:
        gpu = backend.read().gpus[0]
    (place,) = {0, 1, 2, 3}.difference(left)
    assert gpu.unreadable_mig == (UnreadableMig(index=place, fault=Fault(call=fault, code="UNKNOWN")),)
    assert (gpu.faults, [mig.index for mig in gpu.mig_devices]) == ((), left)


@pytest.mark.parametrize("code", ["NOT_SUPPORTED", "FUNCTION_NOT_FOUND"])
def test_a_gpu_with_mig_devices_that_denies_its_mig_mode_is_not_believed(tmp_path: Path, code: str) -> None:
    events = tmp_path / "events"
    say(events, f"fail DeviceGetMigMode 0 {code}")
    with opened(topology("a100-mig-mixed"), events) as backend:
        assert backend.read().gpus[0].faults == (Fault(call="DeviceGetMigMode", code="NOT_SUPPORTED"),)


@pytest.mark.parametrize("call", ["DeviceGetPciInfo", "DeviceGetMigMode"])
@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "NOT_FOUND"])
def test_an_answer_that_is_no_answer_is_a_fault(tmp_path: Path, call: str, code: str) -> None:
    assert read(tmp_path, f"fail {call} 2 {code}").gpus[2].faults == (Fault(call=call, code=code),)


@pytest.mark.parametrize(
    ("code", "advice"),
    [("DRIVER_NOT_LOADED", "modprobe nvidia"), ("LIB_RM_VERSION_MISMATCH", "different versions"), ("UNKNOWN", "")],
)
def test_a_driver_that_does_not_start_is_an_error(tmp_path: Path, code: str, advice: str) -> None:
    events = tmp_path / "events"
    say(events, f"fail InitWithFlags * {code}")
    with pytest.raises(NvmlCallError) as caught, opened(load_node("t4"), events):
        pass
    assert (caught.value.call, caught.value.code) == ("Init", code)
    assert advice in str(caught.value)


def test_a_failure_that_counts_ends_by_itself(tmp_path: Path) -> None:
    events = tmp_path / "events"
    say(events, "fail DeviceGetName 0 UNKNOWN count=1")
    with opened(load_node("t4"), events) as backend:
        assert [bool(backend.read().gpus[0].faults) for _ in range(2)] == [True, False]


def test_gpus_come_and_go(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.touch()
    with opened(node({"gpus": [{"model": "T4", "count": 3}]}), events) as backend:
        before = backend.read()
        say(events, "remove 1")
        without = backend.read()
        say(events, "add 1")
        after = backend.read()
    assert [gpu.index for gpu in without.gpus] == [0, 2]
    assert without.unreadable == (
        UnreadableGpu(index=1, fault=Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST")),
    )
    assert after == before


def test_mig_devices_that_stay_keep_their_uuids_when_a_gpu_is_partitioned_anew(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.touch()
    with opened(load_node("a100-mig-mixed"), events) as backend:
        before = backend.read().gpus[0].mig_devices
        say(events, "mig 0 3g.20gb 1g.5gb")
        after = backend.read().gpus[0].mig_devices
        say(events, "mig 0 off")
        off = backend.read().gpus[0]
    assert [mig.profile for mig in after] == ["3g.20gb", "1g.5gb"]
    assert [mig.uuid for mig in after] == [before[0].uuid, before[2].uuid]
    assert (off.mig_enabled, off.mig_devices) == (False, ())


@pytest.mark.parametrize("call", ["DeviceGetGpuInstanceById", "GpuInstanceGetInfo"])
def test_a_mig_device_whose_profile_is_not_told_is_named_by_its_size(tmp_path: Path, call: str) -> None:
    events = tmp_path / "events"
    say(events, f"fail {call} 0 UNKNOWN")
    with opened(topology("a100-mig-me"), events) as backend:
        mig = backend.read().gpus[0].mig_devices[0]
    assert (mig.profile, mig.faults) == ("1g.5gb", (Fault(call=call, code="UNKNOWN"),))


def test_profiles_that_the_driver_does_not_list_leave_the_name_to_the_size(tmp_path: Path) -> None:
    events = tmp_path / "events"
    say(events, "fail DeviceGetGpuInstanceProfileInfo * FUNCTION_NOT_FOUND")
    with opened(topology("a100-mig-mixed"), events) as backend:
        gpu = backend.read().gpus[0]
    assert [mig.profile for mig in gpu.mig_devices] == ["3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"]
    assert [mig.faults for mig in gpu.mig_devices] == [()] * 4


def test_an_older_driver_that_gives_profiles_no_names_is_understood(tmp_path: Path) -> None:
    events = tmp_path / "events"
    say(events, "fail DeviceGetGpuInstanceProfileInfo * FUNCTION_NOT_FOUND count=1")
    with opened(topology("a100-mig-me"), events) as backend:
        assert backend.read().gpus[0].mig_devices[0].profile == "1g.5gb+me"
