from __future__ import annotations

from dataclasses import replace

import pytest

from core.devices.nodes import opened
from core.labels.building import gpu, inventory
from gpu_core.command import run_program
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.devices.model import Fault, LinkLevel, PairLink, UnreadableGpu
from gpu_core.devices.simulated.files import load_node
from gpu_feature_discovery.topology import TOPOLOGY, document, draw

SELF = PairLink()
NVLINK = PairLink(level=LinkLevel.SYSTEM, nvlinks=12)
SWITCH = PairLink(level=LinkLevel.SINGLE)
FAR = PairLink(level=LinkLevel.SYSTEM)


def test_the_matrix_names_links_numa_nodes_and_models() -> None:
    found = inventory(gpu(0, numa_node=0), gpu(1, numa_node=0), gpu(3, numa_node=1))
    found = replace(found, links=((SELF, NVLINK, FAR), (NVLINK, SELF, SWITCH), (FAR, SWITCH, SELF)))
    assert draw(found) == (
        "      GPU0  GPU1  GPU3  NUMA  PCI ADDRESS   MODEL\n"
        "GPU0   X    NV12  SYS   0     0000:00:00.0  NVIDIA A100-SXM4-40GB\n"
        "GPU1  NV12   X    PIX   0     0000:01:00.0  NVIDIA A100-SXM4-40GB\n"
        "GPU3  SYS   PIX    X    1     0000:03:00.0  NVIDIA A100-SXM4-40GB\n"
        "\n"
        "NUMA node 0: GPU0, GPU1\n"
        "NUMA node 1: GPU3\n"
        "\n"
        "Links:\n"
        "  NV#   joined directly by that many NVLinks\n"
        "  PIX   below one PCIe switch\n"
        "  SYS   across NUMA nodes\n"
    )


def test_a_lost_gpu_is_named_and_its_links_are_not_known() -> None:
    unknown = PairLink(level=None)
    found = inventory(
        gpu(0, None, pci=None, pci_bus_id="00000000:07:00.0"),
        gpu(1, pci=None),
        unreadable=(UnreadableGpu(index=2, fault=Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST")),),
    )
    assert draw(replace(found, links=((SELF, unknown), (unknown, SELF)))) == (
        "      GPU0  GPU1  NUMA  PCI ADDRESS       MODEL\n"
        "GPU0   X     ?    -     00000000:07:00.0  -\n"
        "GPU1   ?     X    -     -                 NVIDIA A100-SXM4-40GB\n"
        "GPU2  cannot be read: nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST\n"
        "\n"
        "NUMA nodes: not known\n"
        "\n"
        "Links:\n"
        "  ?     not known, since one of the two does not answer\n"
    )


def test_one_gpu_has_no_links_to_explain() -> None:
    assert draw(inventory(gpu(0, numa_node=0))) == (
        "      GPU0  NUMA  PCI ADDRESS   MODEL\n"
        "GPU0   X    0     0000:00:00.0  NVIDIA A100-SXM4-40GB\n"
        "\n"
        "NUMA node 0: GPU0\n"
    )


def test_links_that_were_not_read_are_not_known() -> None:
    assert "?" in draw(inventory(gpu(0), gpu(1)))


def test_a_node_without_gpus() -> None:
    assert draw(inventory()) == "This node has no GPUs.\n"


@pytest.mark.parametrize(
    ("name", "word"),
    [("v100x16-dgx2", "NV6"), ("a100x8", "NV12"), ("h100x8", "NV18"), ("h200x8", "NV18"), ("b200x8", "NV18")],
)
def test_gpus_on_an_nvswitch_are_joined_each_with_each_and_the_legend_says_nothing_else(name: str, word: str) -> None:
    with opened(load_node(name)) as backend:
        found = backend.read(links=True)
    picture = draw(found)
    size = len(found.gpus)
    rows = [line.split()[1 : 1 + size] for line in picture.splitlines()[1 : 1 + size]]
    assert rows == [["X" if a == b else word for b in range(size)] for a in range(size)]
    assert picture.partition("Links:\n")[2] == "  NV#   joined through NVSwitches by that many NVLinks of each\n"


def test_programs_get_the_same() -> None:
    unknown = PairLink(level=None)
    found = inventory(
        gpu(0, numa_node=1),
        gpu(1, None, pci=None),
        unreadable=(UnreadableGpu(index=2, fault=Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST")),),
    )
    assert document(replace(found, links=((SELF, unknown), (NVLINK, SELF)))) == {
        "gpus": [
            {
                "index": 0,
                "uuid": found.gpus[0].uuid,
                "product": "NVIDIA A100-SXM4-40GB",
                "pciAddress": "0000:00:00.0",
                "numaNode": 1,
            },
            {"index": 1, "uuid": found.gpus[1].uuid, "product": None, "pciAddress": None, "numaNode": None},
        ],
        "unreadable": [{"index": 2, "reason": "nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST"}],
        "links": [["X", "?"], ["NV12", "X"]],
    }


@pytest.mark.parametrize(
    ("argv", "begins"),
    [
        pytest.param([], "      GPU0  NUMA  PCI ADDRESS   MODEL\n", id="for people"),
        pytest.param(["--format=json"], '{\n  "gpus": [\n    {\n      "index": 0,\n', id="for programs"),
    ],
)
def test_the_subcommand_shows_a_node(capsys: pytest.CaptureFixture[str], argv: list[str], begins: str) -> None:
    words = ["topology", "--simulated-node=t4", *argv]
    code = run_program(GPU_FEATURE_DISCOVERY, words, {}, lambda _: 3, subcommands=[TOPOLOGY])
    assert (code, capsys.readouterr().out[: len(begins)]) == (0, begins)
