"""The status page says of a node what there is to say, and no more."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from core.page.views import EMPTY, SICK, gpu, node
from gpu_core.devices.model import LinkLevel, PairLink
from gpu_core.page.frame import ago, moment
from gpu_core.page.node_document import node_document
from gpu_core.page.node_page import node_page
from gpu_core.page.node_view import NodeView
from gpu_core.page.program import ProgramView, program_document, program_page
from gpu_core.runtime.probes import Check

_VOID = {"meta", "br", "link"}


class Reader(HTMLParser):
    """Reads a page, and fails where elements do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"] and data.strip():
            self.words.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(self.words)


def read(view: NodeView) -> Reader:
    return Reader(node_page(view))


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = read(node())
    assert page.tags & {"script", "img", "link", "iframe", "object", "form", "input"} == set()
    assert page.links == ["/metrics", "/readyz", "/healthz", "/status.json"]
    assert re.search(r"url\(|@import", node_page(node())) is None


@pytest.mark.parametrize(
    "part",
    [
        "NVIDIA Device Plugin on node-a.example.internal",
        "Version 0.1.0, driver 550.90.07, CUDA 12.4, platform nvml, as of 2023-11-14 22:13:20 UTC.",
        "GPUs (5)",
        "nvidia.com/gpu 8 of 12 healthy time-slicing, 4 each ok The kubelet follows the list of devices",
        "XID 79 (GPU has fallen off the bus) occurred, for 2 h (since 2023-11-14 20:13:20 UTC)",
        "it answers again, for 100 s",
        "3 x nvidia.com/mig-1g.5gb",
        "3:0 1g.5gb 4.8 GiB healthy",
        "GPU 4 unreadable nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST",
        "NV# joined directly by that many NVLinks",
        "shared (SHA-256 2192df8dc963)",
        "migStrategy: mixed",
    ],
)
def test_what_there_is_to_know_is_said(part: str) -> None:
    assert part in read(node()).text.replace("\n", " ")


def test_what_was_always_well_needs_no_words() -> None:
    assert "in order from the start" not in read(node()).text


def test_a_node_without_anything_says_so() -> None:
    page = read(EMPTY)
    assert "not ready" in page.text
    assert "no driver version known" in page.text
    assert "Nothing is offered to the kubelet." in page.text
    assert "No GPU was found on this node." in page.text
    assert "no config file; flags, variables and defaults" in page.text
    assert "svg" not in page.tags


def test_one_gpu_has_no_links_and_memory_may_be_unknown_or_small() -> None:
    gpus = (gpu(0, memory_mib=None), gpu(1, memory_mib=512), gpu(2, numa_node=None))
    one = replace(node(1), gpus=gpus, links=((),))
    page = read(one)
    assert "svg" not in page.tags
    assert "512 MiB" in page.text
    assert "None" not in page.text


def test_gpus_on_an_nvswitch_are_drawn_as_joined_and_only_that_is_explained() -> None:
    switched = PairLink(level=LinkLevel.SYSTEM, switched=18)
    links = tuple(tuple(PairLink() if a == b else switched for b in range(3)) for a in range(3))
    page = str(node_page(replace(node(3), links=links)))
    assert page.count(">NV18<") == 6
    assert page.count('class="near-0"') == 6
    assert re.findall(r"<strong>([A-Z#]+)</strong> ([^<]*)", page.partition("legend")[2]) == [
        ("NV#", "joined through NVSwitches by that many NVLinks of each")
    ]


def test_a_partitioned_gpu_without_mig_devices_says_so() -> None:
    view = replace(node(2), gpus=(gpu(0, mig_enabled=True), gpu(1)))
    assert "MIG is on, and no MIG device has been made." in read(view).text


def test_the_document_says_the_same() -> None:
    document = node_document(node(2))
    assert document["ready"] is True
    assert document["links"] == [["", "NV12"], ["NV12", ""]]
    assert document["gpus"][0] == {
        "index": 0,
        "uuid": "GPU-5d204b67-1282-563e-b7c0-8759cc77a100",
        "product": "NVIDIA A100-SXM4-40GB",
        "memoryMiB": 40960,
        "pciAddress": "0000:00:00.0",
        "numaNode": 0,
        "migEnabled": False,
        "healthy": True,
        "cause": "",
        "reason": "it was in order from the start",
        "since": 1_699_913_600.0,
        "offered": {"nvidia.com/gpu": 1},
        "migDevices": [],
    }
    assert document["gpus"][1]["migDevices"][1]["cause"] == SICK.cause
    assert document["unreadable"] == [{"index": 2, "reason": "nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST"}]
    assert (document["resources"][0]["listed"], document["resources"][0]["healthy"]) == (4, 4)


PROGRAM = ProgramView(
    title="GPU feature discovery",
    version="0.1.0",
    node="a",
    now=1_700_000_000.0,
    checks=(Check(name="labels", ok=True, reason="went out"),),
    facts=(("Destination", "NodeFeature x"), ("Driver", "")),
    tables={"Labels": {"nvidia.com/gpu.count": "8"}},
    config_name="",
    config="version: v1\n",
)


def test_the_page_of_a_program_without_devices() -> None:
    page = Reader(program_page(PROGRAM))
    assert "GPU feature discovery on a" in page.text
    assert "Labels (1)" in page.text
    assert "nvidia.com/gpu.count 8" in page.text
    assert "from flags and variables" in page.text
    assert "Driver" not in page.text
    assert program_document(PROGRAM)["labels"] == {"nvidia.com/gpu.count": "8"}


def test_a_program_with_little_to_say() -> None:
    bare = ProgramView(title="Config manager", version="1", node="", now=0.0, checks=())
    page = Reader(program_page(bare))
    assert "Config manager ready" in page.text
    assert "Configuration" not in page.text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h"), (200_000, "2 d")],
)
def test_times_are_told_roughly(seconds: float, text: str) -> None:
    assert ago(seconds) == text


def test_moments_are_told_in_utc() -> None:
    assert moment(0) == "1970-01-01 00:00:00 UTC"
