from __future__ import annotations

import pytest

from core.labels.building import node
from gpu_core.devices.model import PciFacts
from gpu_core.labels import NodeFacts, vgpu


def function(config: bytes, number: int = 0) -> PciFacts:
    return PciFacts(address=f"0000:07:00.{number}", vendor=0x10DE, config=config)


def virtual(version: bytes = b"535.161.05", *, before: bytes = b"") -> bytes:
    space = bytearray(256)
    space[0x06], space[0x34] = 0x10, 0x40
    records = before + bytes([0, 22]) + version + b"r536_57\0\0\0"
    space[0x40 : 0x45 + len(records)] = bytes([0x09, 0, 5 + len(records)]) + b"VF" + records
    return bytes(space)


HOST = {
    "nvidia.com/vgpu.present": "true",
    "nvidia.com/vgpu.host-driver-version": "535.161.05",
    "nvidia.com/vgpu.host-driver-branch": "r536_57",
}
NO_HOST = {"nvidia.com/vgpu.present": "false"}


@pytest.mark.parametrize(
    ("functions", "expected", "warnings"),
    [
        pytest.param((), NO_HOST, (), id="no NVIDIA function"),
        pytest.param((function(bytes(256)),), NO_HOST, (), id="a real GPU"),
        pytest.param((function(bytes(256)), function(virtual(), 1)), HOST, (), id="a virtual GPU"),
        pytest.param(
            None, {}, ("The PCI bus cannot be read, so the vgpu labels are left out.",), id="a bus that cannot be read"
        ),
        pytest.param(
            (function(virtual()), function(b"", 1)),
            {},
            ("The PCI configuration of 0000:07:00.1 cannot be read, so the vgpu labels are left out.",),
            id="a function that cannot be read",
        ),
        pytest.param(
            (function(virtual()[:64], 1), function(virtual()[:64])),
            NO_HOST,
            (
                (
                    "PCI function 0000:07:00.0, 0000:07:00.1 shows only 64 of 256 bytes of configuration space; the "
                    "rest needs privilege; it is taken for no virtual GPU."
                ),
            ),
            id="functions read without privilege",
        ),
        pytest.param(
            (function(virtual(before=b"\0\0")),),
            NO_HOST,
            (
                (
                    "PCI function 0000:07:00.0 has a vGPU capability with a record 0 of 0 bytes, fewer than 22; it is "
                    "taken for no virtual GPU."
                ),
            ),
            id="a driver's record without length",
        ),
    ],
)
def test_vgpu(functions: tuple[PciFacts, ...] | None, expected: dict[str, str], warnings: tuple[str, ...]) -> None:
    labels = vgpu.label(node(facts=NodeFacts(timestamp=0, pci=functions)))
    assert (labels.values, labels.warnings) == (expected, warnings)


def test_a_hosts_version_becomes_a_legal_value() -> None:
    facts = NodeFacts(timestamp=0, pci=(function(virtual(b"-\xff535.1/6\0")),))
    assert vgpu.label(node(facts=facts)).values["nvidia.com/vgpu.host-driver-version"] == "535.16"
