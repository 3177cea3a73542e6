"""Drivers that answer nonsense: it costs the fact that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pynvml
import pytest

from core.devices.nodes import node
from gpu_core.devices.backend import Watch, Watching
from gpu_core.devices.model import Fault, Inventory, PairLink, PciFacts, UnreadableGpu
from gpu_core.devices.nvml.reader import NvmlBackend
from gpu_core.devices.simulated.backend import SimulatedFiles
from gpu_core.devices.simulated.library import SimulatedLibrary
from gpu_core.devices.simulated.state import SimulatedState
from gpu_core.errors import NvmlCallError

TWO = {"gpus": [{"model": "T4", "count": 2, "numa": 0}], "links": {"nvlinks": {"all": 1}}}


class Altered:
    """A library some of whose functions are others."""

    def __init__(self, library: SimulatedLibrary, functions: dict[str, Callable[..., int]]) -> None:
        self._library = library
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        return self._functions.get(name) or getattr(self._library, name)


@contextmanager
def altered(**functions: Callable[..., int]) -> Iterator[NvmlBackend]:
    """Open two GPUs whose driver has other functions."""
    simulated = node(TWO)
    library = Altered(SimulatedLibrary(SimulatedState(simulated)), functions)
    backend = NvmlBackend(library, SimulatedFiles(simulated))
    yield backend
    backend.close()


def read(**functions: Callable[..., int]) -> Inventory:
    """Read two GPUs whose driver has other functions."""
    with altered(**functions) as backend:
        return backend.read(links=True)


def junk(_device: Any, text: Any, _size: Any) -> int:
    """Write bytes that are no text."""
    text.value = b"\xff\xfe\xfd"
    return 0


def bus(text: bytes) -> Callable[..., int]:
    """Return a function that writes a PCI bus id."""

    def answer(*args: Any) -> int:
        args[-1]._obj.busId = text
        return 0

    return answer


def test_a_name_that_is_no_text_is_a_fault() -> None:
    found = read(nvmlDeviceGetName=junk)
    fault = Fault(call="DeviceGetName", code="UNREADABLE_TEXT")
    assert [(gpu.name, gpu.faults) for gpu in found.gpus] == [(None, (fault,))] * 2


def test_a_uuid_that_is_no_text_is_no_identity() -> None:
    fault = Fault(call="DeviceGetUUID", code="UNREADABLE_TEXT")
    assert read(nvmlDeviceGetUUID=junk).unreadable == tuple(UnreadableGpu(index=i, fault=fault) for i in range(2))


def test_a_return_value_that_nobody_knows_keeps_its_number() -> None:
    found = read(nvmlDeviceGetMinorNumber=lambda *_: 4242)
    assert found.gpus[0].faults == (Fault(call="DeviceGetMinorNumber", code="CODE_4242"),)


@pytest.mark.parametrize("text", [b"", b"somewhere", b"00000000:07:00", b"00000000:07:00.9"])
def test_a_bus_id_that_is_none_leads_to_no_folder(text: bytes) -> None:
    gpu = read(nvmlDeviceGetPciInfo_v3=bus(text)).gpus[0]
    assert (gpu.pci, gpu.numa_node, gpu.faults) == (None, None, ())


def test_a_bus_id_that_is_no_text_is_a_fault() -> None:
    fault = Fault(call="DeviceGetPciInfo", code="UNREADABLE_TEXT")
    assert [(gpu.pci_bus_id, gpu.faults) for gpu in read(nvmlDeviceGetPciInfo_v3=bus(b"\xff")).gpus] == [
        (None, (fault,))
    ] * 2


def test_an_nvlink_that_ends_at_no_text_counts_for_nobody() -> None:
    assert read(nvmlDeviceGetNvLinkRemotePciInfo_v2=bus(b"\xff")).links[0][1].nvlinks == 0


def test_an_nvlink_that_ends_nowhere_counts_for_nobody() -> None:
    links = read(nvmlDeviceGetNvLinkRemotePciInfo_v2=bus(b"nowhere")).links
    assert links[0][1].nvlinks == 0


def not_found(*_: Any) -> int:
    """Answer as a driver of which the function is none."""
    return int(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)


def unknown_kind(_device: Any, _link: Any, kind: Any) -> int:
    """Answer that nobody knows what an NVLink ends in."""
    kind._obj.value = pynvml.NVML_NVLINK_DEVICE_TYPE_UNKNOWN
    return 0


class WithFunction:
    """The node's files, with one more function on the PCI bus."""

    def __init__(self, files: SimulatedFiles, function: PciFacts) -> None:
        self._files = files
        self._function = function

    def pci(self, address: str) -> PciFacts | None:
        return self._function if address == self._function.address else self._files.pci(address)

    def mig_minors(self) -> Mapping[str, int] | None:
        return self._files.mig_minors()


@pytest.mark.parametrize("kind", [not_found, unknown_kind], ids=["older driver", "unknown kind"])
@pytest.mark.parametrize(
    ("vendor", "class_code", "switched"),
    [
        pytest.param(0x10DE, 0x068000, 1, id="an NVSwitch"),
        pytest.param(0x10DE, 0x030200, 0, id="a GPU of which nothing else is known"),
        pytest.param(0x1014, 0x068000, 0, id="something of another maker"),
        pytest.param(0x10DE, None, 0, id="something without a class"),
    ],
)
def test_where_the_driver_does_not_say_what_an_nvlink_ends_in_the_kernel_does(
    kind: Callable[..., int], vendor: int, class_code: int | None, switched: int
) -> None:
    simulated = node(TWO)
    functions = {
        "nvmlDeviceGetNvLinkRemoteDeviceType": kind,
        "nvmlDeviceGetNvLinkRemotePciInfo_v2": bus(b"00000000:C0:00.0"),
    }
    library = Altered(SimulatedLibrary(SimulatedState(simulated)), functions)
    function = PciFacts(address="0000:c0:00.0", vendor=vendor, class_code=class_code)
    backend = NvmlBackend(library, WithFunction(SimulatedFiles(simulated), function))
    found = backend.read(links=True).links[0][1]
    backend.close()
    assert (found.nvlinks, found.switched) == (0, switched)


def test_a_level_that_nobody_knows_is_unknown() -> None:
    def answer(_one: Any, _other: Any, level: Any) -> int:
        level._obj.value = 7
        return 0

    assert read(nvmlDeviceGetTopologyCommonAncestor=answer).links[0] == (PairLink(), PairLink(nvlinks=1))


def test_gpus_that_cannot_be_counted_are_an_error() -> None:
    with pytest.raises(NvmlCallError) as caught:
        read(nvmlDeviceGetCount_v2=lambda *_: 999)
    assert (caught.value.call, caught.value.code) == ("DeviceGetCount", "UNKNOWN")


def test_an_event_of_a_type_that_nobody_asked_for_is_passed_over() -> None:
    def answer(_events: Any, data: Any, _milliseconds: Any) -> int:
        data._obj.eventType = 0x1000
        return 0

    with altered(nvmlEventSetWait_v2=answer) as backend:
        monitor = backend.monitor()
        assert monitor.ask(backend.read().gpus[0], watch=True).watching == Watching(gpu=Watch.WATCHED)
        assert monitor.wait(1) is None
        monitor.close()
