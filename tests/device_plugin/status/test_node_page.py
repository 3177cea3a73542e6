"""The status page says of a node what there is to say, and no more."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from device_plugin.status.page import node_document, node_page
from device_plugin.status.view import NodeView
from fakes.page_reading import Reader
from fakes.page_views import EMPTY, FOLLOWED, gpu, node
from gpu_core.devices.model import LinkLevel, PairLink
from gpu_core.health.what_helps import UNREADABLE
from gpu_core.runtime.probes import Check
from gpu_core.web.frame import ago, moment, named, prose
from gpu_core.web.program import ProgramView, program_document, program_page


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
        "GPUs that need attention (3)",
        "Healthy GPUs (2)",
        "look GPUs 4 found",
        "nvidia.com/gpu 2 of 3 healthy 8 of 12 shares time-slicing, 4 each ok The kubelet follows the list of devices",
        (
            "GPU 1 unhealthy NVIDIA A100-SXM4-40GB XID 79 (GPU has fallen off the bus) occurred "
            "Since: 2023-11-14 20:13:20 UTC, for 2 h What helps: Drain the node and restart it. "
            "the driver asks for recovery: reset Since: 2023-11-14 22:12:20 UTC, for 60 s "
            "What helps: Take the pods off the GPU and reset it. Recovery action: reset, as the driver asks"
        ),
        "GPU 3 partly unhealthy",
        "3:1 1g.5gb 4.8 GiB unhealthy XID 79 (GPU has fallen off the bus) occurred on this MIG device Since:",
        "it answers again, 2023-11-14 22:11:40 UTC, for 100 s",
        "40.0 GiB · PCI 0000:00:00.0 · NUMA 0",
        "3 x nvidia.com/mig-1g.5gb",
        "3:0 1g.5gb 4.8 GiB healthy",
        (
            "GPU 4 unreadable it never answered in full and is not served: "
            "nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST What helps: It is read again by itself."
        ),
        "The page looks again every 30 seconds.",
        "NV# joined directly by that many NVLinks",
        "shared (SHA-256 2192df8dc963)",
        "migStrategy: mixed",
    ],
)
def test_what_there_is_to_know_is_said(part: str) -> None:
    assert part in read(node()).text.replace("\n", " ")


def test_the_page_is_looked_at_again_by_itself() -> None:
    assert '<meta http-equiv="refresh" content="30"/>' in node_page(node())
    assert '<meta http-equiv="refresh" content="30"/>' in program_page(PROGRAM)


@pytest.mark.parametrize(
    ("name", "css"),
    [("nvidia.com/gpu", "name"), ("nvidia.com/mig-1g.5gb.me.shared", "name"), (f"nvidia.com/{'a' * 50}", "name long")],
)
def test_names_of_resources_are_not_broken_unless_no_phone_is_wide_enough(name: str, css: str) -> None:
    markup = f'<span class="{css}">{name}</span>'
    assert named(name) == markup
    assert prose(f"{name}.sock <is> taken: {name}.") == f"{named(name + '.sock')} &lt;is&gt; taken: {markup}."
    style = node_page(EMPTY)
    assert ".name { white-space: nowrap; }" in style
    assert ".name.long { white-space: normal; overflow-wrap: anywhere; }" in style


def test_every_name_of_a_resource_on_the_page_is_kept_whole() -> None:
    text = re.sub(r'<span class="name">nvidia\.com/[^<]*</span>', "", node_page(replace(node(), checks=(FOLLOWED,))))
    assert re.findall(r"nvidia\.com/[^<]*", text) == []


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
    gpus = (gpu(0, memory_mib=None), gpu(1, memory_mib=512, pci_address=""), gpu(2, numa_node=None))
    one = replace(node(1), gpus=gpus, links=((),))
    page = read(one)
    assert "svg" not in page.tags
    assert "512 MiB · NUMA 0" in page.text
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
        "advice": "",
        "recoveryAction": None,
        "also": [],
        "offered": {"nvidia.com/gpu": 1},
        "migDevices": [],
    }
    mig = document["gpus"][1]["migDevices"][1]
    assert (mig["cause"], mig["advice"], mig["recoveryAction"]) == ("xid", "Drain the node and restart it.", "reset")
    assert document["attention"] == {
        "text": "2 of 3 GPUs need attention: 1, 2",
        "gpus": [1, 2],
        "total": 3,
        "concerns": [
            {
                "gpu": 1,
                "name": "MIG device 1:1 (1g.5gb)",
                "uuid": "MIG-1",
                "causes": [
                    {
                        "cause": "xid",
                        "reason": "XID 79 (GPU has fallen off the bus) occurred on this MIG device",
                        "since": 1_699_992_800.0,
                        "advice": "Drain the node and restart it.",
                    }
                ],
                "recoveryAction": "reset",
            },
            {
                "gpu": 2,
                "name": "GPU 2",
                "uuid": "",
                "causes": [
                    {
                        "cause": "unreadable",
                        "reason": "it never answered in full and is not served: "
                        "nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST",
                        "since": None,
                        "advice": UNREADABLE,
                    }
                ],
                "recoveryAction": None,
            },
        ],
    }
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
