"""Which GPUs are managed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.devices.nodes import node, opened
from gpu_core.config.model import DeviceFilter
from gpu_core.devices.filter import FilterReport, apply, report
from gpu_core.devices.model import Fault, Gpu, Inventory, PairLink, Platform, UnreadableGpu

MODELS = ["Tesla T4", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", "NVIDIA L40S"]
FOUR = Inventory(
    platform=Platform.NVML,
    gpus=tuple(
        Gpu(index=index, uuid=f"GPU-{index}", name=name, pci_bus_id=f"00000000:0{index}:00.0")
        for index, name in enumerate(MODELS)
    ),
    links=tuple(tuple(PairLink(nvlinks=10 * a + b) for b in range(4)) for a in range(4)),
)


@pytest.mark.parametrize(
    ("include", "exclude", "kept"),
    [
        pytest.param((), (), [0, 1, 2, 3], id="all without a filter"),
        pytest.param(("GPU-2",), (), [2], id="by UUID"),
        pytest.param(("0", "3"), (), [0, 3], id="by index"),
        pytest.param((), ("0000:01:00.0",), [0, 2, 3], id="by the kernel's PCI address"),
        pytest.param((), ("00000000:01:00.0",), [0, 2, 3], id="by NVML's PCI address"),
        pytest.param(("*A100*",), (), [1, 2], id="by product"),
        pytest.param(("A100",), (), [], id="a product is matched whole"),
        pytest.param((), ("*a100*",), [0, 3], id="by product, in small letters"),
        pytest.param(("TESLA t4",), (), [0], id="by a whole product, in other letters"),
        pytest.param(("gpu-2",), (), [2], id="by UUID, in small letters"),
        pytest.param(("*",), ("Tesla*",), [1, 2, 3], id="exclude wins"),
        pytest.param(("1",), ("1",), [], id="exclude wins over the same entry"),
        pytest.param((), ("*" * 60 + "!", "*a" * 30 + "!"), [0, 1, 2, 3], id="stars without end leave nothing out"),
    ],
)
def test_a_filter_keeps(include: tuple[str, ...], exclude: tuple[str, ...], kept: list[int]) -> None:
    found = apply(FOUR, DeviceFilter(include=include, exclude=exclude))
    assert [gpu.index for gpu in found.gpus] == kept
    assert found.links == tuple(tuple(FOUR.links[a][b] for b in kept) for a in kept)


@pytest.mark.parametrize("name", ["DGX Display", "NVIDIA DGX Display"])
def test_display_adapters_are_left_out_and_indices_keep_their_gaps(name: str) -> None:
    display = {"name": name, "pci_class": 0x030000, "compute_capability": "7.5"}
    with opened(node({"gpus": [{"model": "A30"}, display, {"model": "A30"}]})) as backend:
        found = apply(backend.read(), DeviceFilter())
    assert [gpu.index for gpu in found.gpus] == [0, 2]


def test_a_gpu_without_a_name_is_no_product_and_no_address() -> None:
    nameless = replace(FOUR.gpus[0], name=None, pci_bus_id=None)
    found = replace(FOUR, gpus=(nameless,), links=())
    assert apply(found, DeviceFilter(exclude=("*",))).gpus == (nameless,)
    assert apply(found, DeviceFilter(exclude=("GPU-0",))).gpus == ()


def test_an_unreadable_gpu_is_known_by_its_index_only() -> None:
    lost = tuple(UnreadableGpu(index=index, fault=Fault(call="DeviceGetUUID", code="UNKNOWN")) for index in (0, 1))
    found = apply(replace(FOUR, gpus=(), links=(), unreadable=lost), DeviceFilter(exclude=("1",)))
    assert found.unreadable == lost[:1]


def test_an_unreadable_gpu_is_known_by_its_uuid_where_that_could_be_read() -> None:
    lost = UnreadableGpu(index=0, uuid="GPU-a", fault=Fault(call="DeviceGetName", code="UNKNOWN"))
    found = apply(replace(FOUR, gpus=(), links=(), unreadable=(lost,)), DeviceFilter(exclude=("GPU-A",)))
    assert found.unreadable == ()


_HELP = (
    "the GPUs of this node are NVIDIA A100-SXM4-40GB, NVIDIA L40S, Tesla T4. Products are matched whole, with `*` for "
    "any text; `nvidia-smi -L` lists UUIDs and indices."
)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param(DeviceFilter(), FilterReport(), id="no filter, nothing to say"),
        pytest.param(
            DeviceFilter(exclude=("*A100*",)),
            FilterReport(note="The filter `devices` leaves out 2 of the 4 GPUs of this node."),
            id="all entries match: how many are left out",
        ),
        pytest.param(
            DeviceFilter(include=("*A100*", "*B200*"), exclude=("GPU-9", "1")),
            FilterReport(
                note="The filter `devices` leaves out 3 of the 4 GPUs of this node. No GPU of it matches include: "
                "'*B200*'; exclude: 'GPU-9'."
            ),
            id="some entries are for other nodes",
        ),
        pytest.param(
            DeviceFilter(include=("0",), exclude=("GPU-9",)),
            FilterReport(
                note="The filter `devices` leaves out 3 of the 4 GPUs of this node. No GPU of it matches exclude: "
                "'GPU-9'."
            ),
            id="only what is excluded is for other nodes",
        ),
        pytest.param(
            DeviceFilter(exclude=("*H100*",)),
            FilterReport(
                warning="The filter `devices` leaves out 0 of the 4 GPUs of this node. No GPU matches what it names "
                f"(exclude: '*H100*'); {_HELP}"
            ),
            id="nothing matches, so that all are served",
        ),
        pytest.param(
            DeviceFilter(include=("GPU-typo",), exclude=("0",)),
            FilterReport(
                warning="The filter `devices` leaves out 4 of the 4 GPUs of this node. No GPU matches what it names "
                f"(include: 'GPU-typo'); {_HELP}",
                empties=True,
            ),
            id="nothing is included, so that none is served",
        ),
        pytest.param(
            DeviceFilter(exclude=("*",)),
            FilterReport(note="The filter `devices` leaves out 4 of the 4 GPUs of this node.", empties=True),
            id="all are excluded",
        ),
    ],
)
def test_it_is_said_what_a_filter_does_to_a_node(devices: DeviceFilter, expected: FilterReport) -> None:
    assert report(FOUR, devices) == expected


def test_nothing_is_said_of_entries_while_a_gpu_cannot_be_read() -> None:
    lost = UnreadableGpu(index=4, fault=Fault(call="DeviceGetUUID", code="UNKNOWN"))
    found = replace(FOUR, unreadable=(lost,))
    note = "The filter `devices` leaves out 5 of the 5 GPUs of this node."
    assert report(found, DeviceFilter(include=("GPU-4",))) == FilterReport(note=note, empties=True)


def test_nothing_is_said_where_there_is_no_gpu() -> None:
    assert report(Inventory(platform=Platform.NVML), DeviceFilter(include=("GPU-1",))) == FilterReport()
    display = Gpu(index=0, uuid="GPU-0", name="NVIDIA DGX Display")
    assert report(Inventory(platform=Platform.NVML, gpus=(display,)), DeviceFilter(include=("1",))) == FilterReport()
