from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.labels.vgpu import Unclear, VgpuHost, vgpu_host

VERSION = b"535.161.05"
BRANCH = b"r536_57\0\0\0"
DRIVER_RECORD = bytes([0, 22]) + VERSION + BRANCH


def space(capabilities: dict[int, bytes], *, first: int, listed: bool = True) -> bytes:
    """Return 256 bytes of configuration space with capabilities at the given offsets."""
    config = bytearray(256)
    config[0:2] = b"\xde\x10"
    config[0x06] = 0x10 if listed else 0
    config[0x34] = first
    for offset, capability in capabilities.items():
        config[offset : offset + len(capability)] = capability
    return bytes(config)


def vgpu_capability(records: bytes, *, following: int = 0) -> bytes:
    return bytes([0x09, following, 5 + len(records)]) + b"VF" + records


HOST = VgpuHost(driver_version="535.161.05", driver_branch="r536_57")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(space({0x40: vgpu_capability(DRIVER_RECORD)}, first=0x40), HOST, id="the only capability"),
        pytest.param(
            space({0x60: b"\x01\x68\x00", 0x68: vgpu_capability(DRIVER_RECORD)}, first=0x60), HOST, id="the second one"
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x02\x04ab" + DRIVER_RECORD)}, first=0x40), HOST, id="another record first"
        ),
        pytest.param(
            space({0x40: b"\x09\x60\x14\x01\x00", 0x60: vgpu_capability(DRIVER_RECORD)}, first=0x40),
            HOST,
            id="a vendor's other capability first",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x00\x18" + VERSION + BRANCH + b"??")}, first=0x40),
            HOST,
            id="a driver's record with more behind its two texts",
        ),
        pytest.param(
            space({0xE5: vgpu_capability(DRIVER_RECORD)}, first=0xE5), HOST, id="a capability that ends with the space"
        ),
        pytest.param(space({}, first=0x40, listed=False), None, id="no list of capabilities"),
        pytest.param(space({}, first=0), None, id="an empty list"),
        pytest.param(space({0x40: b"\x10\x00\x00"}, first=0x40), None, id="other capabilities only"),
        pytest.param(space({0x40: b"\x09\x00\x14\x01\x00"}, first=0x40), None, id="a GPU passed through whole"),
        pytest.param(space({0x40: b"\xff\xff\xff"}, first=0x40), None, id="a function that does not answer"),
        pytest.param(space({0xF0: b"\x09\x00\x04VF"}, first=0xF0), None, id="a capability too short for a signature"),
        pytest.param(bytes(64), None, id="64 bytes without a list of capabilities"),
    ],
)
def test_configuration_space_tells_a_virtual_gpu(config: bytes, expected: VgpuHost | None) -> None:
    assert vgpu_host(config) == expected


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        pytest.param(b"", "offers only 0 bytes of configuration space", id="nothing"),
        pytest.param(bytes(63), "offers only 63 bytes of configuration space", id="less than a header"),
        pytest.param(
            space({}, first=0x40)[:64],
            "shows only 64 of 256 bytes of configuration space; the rest needs privilege",
            id="a header only, as the kernel shows it without privilege",
        ),
        pytest.param(
            space({0x40: b"\x10\x40\x00"}, first=0x40),
            "has a list of PCI capabilities that goes astray at offset 0x40",
            id="a list that runs in a circle",
        ),
        pytest.param(
            space({}, first=0x10),
            "has a list of PCI capabilities that goes astray at offset 0x10",
            id="a list that leads into the header",
        ),
        pytest.param(
            space({}, first=0xFE),
            "has a list of PCI capabilities that goes astray at offset 0xfe",
            id="a list that leads past the end",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x02\x00" + DRIVER_RECORD)}, first=0x40),
            "has a vGPU capability with a record 2 of 0 bytes, fewer than 2",
            id="a record without length",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x02\xff" + DRIVER_RECORD)}, first=0x40),
            "has a vGPU capability that ends within its record 2",
            id="a record longer than its capability",
        ),
        pytest.param(
            space({0xF0: vgpu_capability(DRIVER_RECORD)[:16]}, first=0xF0),
            "has a vGPU capability that ends within its record 0",
            id="a capability cut off by the end",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x00\x00" + DRIVER_RECORD)}, first=0x40),
            "has a vGPU capability with a record 0 of 0 bytes, fewer than 22",
            id="a driver's record without length, whose text is the next record",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x00\x06" + VERSION + BRANCH)}, first=0x40),
            "has a vGPU capability with a record 0 of 6 bytes, fewer than 22",
            id="a driver's record too short for its two texts",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x00\x15" + VERSION + BRANCH)}, first=0x40),
            "has a vGPU capability with a record 0 of 21 bytes, fewer than 22",
            id="a driver's record one byte too short",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x00\xfa" + VERSION + BRANCH)}, first=0x40),
            "has a vGPU capability that ends within its record 0",
            id="a driver's record longer than its capability",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x00\x17" + VERSION + BRANCH)}, first=0x40),
            "has a vGPU capability that ends within its record 0",
            id="a driver's record one byte longer than its capability",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x02\x04ab")}, first=0x40),
            "has a vGPU capability that does not hold the host's driver version",
            id="no driver's record",
        ),
        pytest.param(
            space({0x40: vgpu_capability(b"\x02\x04ab\x00")}, first=0x40),
            "has a vGPU capability that does not hold the host's driver version",
            id="half the head of a record",
        ),
    ],
)
def test_damaged_configuration_space_is_unclear(config: bytes, reason: str) -> None:
    assert vgpu_host(config) == Unclear(reason=reason)


@given(st.binary(max_size=300))
def test_any_bytes_end_in_an_answer(config: bytes) -> None:
    assert isinstance(vgpu_host(config), VgpuHost | Unclear | None)


@given(st.binary(min_size=192, max_size=192), st.integers(0, 255))
def test_any_list_of_capabilities_ends_in_an_answer(rest: bytes, first: int) -> None:
    config = space({0x40: rest}, first=first)
    assert isinstance(vgpu_host(config), VgpuHost | Unclear | None)


@given(st.binary(max_size=180))
def test_any_list_of_records_ends_in_an_answer(records: bytes) -> None:
    config = space({0x40: vgpu_capability(records)}, first=0x40)
    assert isinstance(vgpu_host(config), VgpuHost | Unclear)


def record(identity: int, data: bytes) -> bytes:
    return bytes([identity, 2 + len(data)]) + data


OTHER_RECORDS = st.lists(st.builds(record, st.integers(1, 255), st.binary(max_size=20)), max_size=6)
TEXTS = st.text(alphabet="0123456789._r", max_size=10)


@given(OTHER_RECORDS, TEXTS, TEXTS, st.binary(max_size=8), st.binary(max_size=8))
def test_a_drivers_record_is_found_behind_any_others(
    others: list[bytes], version: str, branch: str, more: bytes, behind: bytes
) -> None:
    texts = version.encode().ljust(10, b"\0") + branch.encode().ljust(10, b"\0")
    capability = vgpu_capability(b"".join(others) + record(0, texts + more) + behind)
    assert vgpu_host(space({0x40: capability}, first=0x40)) == VgpuHost(driver_version=version, driver_branch=branch)


@given(OTHER_RECORDS, st.integers(0, 255), st.binary(max_size=40))
def test_a_drivers_record_that_is_too_short_or_ends_elsewhere_tells_nothing(
    others: list[bytes], length: int, data: bytes
) -> None:
    """The record promises `length` bytes and the capability ends behind `data`."""
    capability = vgpu_capability(b"".join(others) + bytes([0, length]) + data)
    whole = 22 <= length <= 2 + len(data)
    assert isinstance(vgpu_host(space({0x40: capability}, first=0x40)), VgpuHost if whole else Unclear)
