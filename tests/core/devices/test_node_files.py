"""Node files: what may stand in them, and what is said about the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.devices.nodes import node, opened, topology
from gpu_core.devices.pci import device_names
from gpu_core.devices.simulated.commands import (
    Add,
    Command,
    Fail,
    Happen,
    Heal,
    Partition,
    Recover,
    Remove,
    parse_command,
)
from gpu_core.devices.simulated.files import load_node
from gpu_core.errors import ConfigError, UsageError


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param([], "node: a mapping is needed", id="no mapping"),
        pytest.param({"gpu": []}, "node: unknown key 'gpu'. Known keys:", id="an unknown key"),
        pytest.param({"gpus": {}}, "node: gpus: a list is needed", id="no list"),
        pytest.param({"gpus": [{"modell": "T4"}]}, "gpus[0]: unknown key 'modell'", id="an unknown key of a GPU"),
        pytest.param({"gpus": [{"model": "T5"}]}, "unknown model 'T5'. Known models: A100", id="an unknown model"),
        pytest.param({"gpus": [{"model": "T4", "count": "2"}]}, "count: a whole number", id="a text for a number"),
        pytest.param({"gpus": [{"compute_capability": 9}]}, 'Write it as "9.0"', id="no compute capability"),
        pytest.param({"gpus": [{"model": "T4", "events": ["xyz"]}]}, "'xyz' is not one of xid", id="no event"),
        pytest.param({"gpus": [{"model": "T4", "recovery": "maybe"}]}, "is not one of none", id="no recovery action"),
        pytest.param({"platform": "mac"}, "'mac' is not one of nvml, wsl", id="no platform"),
        pytest.param(
            {"gpus": [{"model": "A30", "mig": {"enabled": True, "devices": ["9g.99gb"]}}]},
            "unknown MIG profile '9g.99gb'. Profiles of this GPU: 1g.6gb",
            id="no profile",
        ),
        pytest.param(
            {"gpus": [{"model": "T4", "mig": {"enabled": True, "devices": ["1g.6gb"]}}]},
            "none, as this GPU has no MIG",
            id="no MIG",
        ),
        pytest.param({"links": {"default": "FAR"}}, "'FAR' is no level. Known levels:", id="no level"),
        pytest.param({"links": {"groups": [[1]]}}, "an entry is written {level", id="no group"),
        pytest.param({"links": {"pairs": {"0+1": "PIX"}}}, "a pair is written 0-1", id="no pair"),
        pytest.param({"links": {"pairs": {"0-1": "PIX"}}}, "there is no GPU 0; the node has 0", id="no such GPU"),
        pytest.param({"links": {"nvlinks": {"some": 1}}}, "known keys are all, pairs", id="no way to link"),
    ],
)
def test_a_wrong_document_names_the_key_and_what_may_stand_there(document: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        node(document)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("t5", "There is no simulated node called t5. Give one of a100-mig-empty,"),
        ("models", "There is no simulated node called models."),
        ("./missing.yaml", "The node file ./missing.yaml cannot be read: No such file or directory."),
    ],
)
def test_a_node_that_is_not_there_is_a_usage_error(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_node(name)
    assert str(caught.value).startswith(message)


def test_a_file_that_is_not_yaml_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("gpus: [")
    with pytest.raises(UsageError, match="is not YAML"):
        load_node(str(path))


def test_a_named_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    os.mkfifo(path)
    with pytest.raises(UsageError, match="it is a named pipe and no regular file"):
        load_node(str(path))


def test_uuids_follow_from_the_name_of_the_node() -> None:
    first, again = (load_node("a100-mig-mixed") for _ in range(2))
    assert first == again
    assert first.gpus[0].uuid != load_node("a100-mig-uniform").gpus[0].uuid


def test_a_list_gives_each_gpu_of_an_entry_its_own() -> None:
    simulated = node({"gpus": [{"model": "T4", "count": 2, "numa": [1, -1], "uuid": ["GPU-a", "GPU-b"]}]})
    assert [(gpu.uuid, gpu.numa_node) for gpu in simulated.gpus] == [("GPU-a", 1), ("GPU-b", None)]


def test_memory_may_be_given_in_bytes() -> None:
    assert [gpu.memory for gpu in node({"gpus": [{"memory": "1000B"}, {"memory": 1}, {}]}).gpus] == [
        1000,
        1 << 20,
        None,
    ]


def test_a_vgpu_tells_of_its_host_in_its_configuration_space() -> None:
    with opened(topology("vgpu")) as backend:
        pci = backend.read().gpus[0].pci
    assert pci is not None
    assert pci.config[0x40:0x5B] == b"\x09\x00\x1bVF\x00\x16535.161.05r536_57\0\0\0"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("event 0 xid=79", Happen(target="0", kind=8, data=79)),
        (
            "event * xid=13 gi=1 ci=0  # a comment",
            Happen(target="*", kind=8, data=13, gpu_instance=1, compute_instance=0),
        ),
        ("event GPU-1 type=2 data=1", Happen(target="GPU-1", kind=2, data=1)),
        ("fail DeviceGetName 3 gpu_is_lost", Fail(call="DeviceGetName", target="3", code="GPU_IS_LOST")),
        (
            "fail nvmlEventSetWait_v2 * NVML_ERROR_UNKNOWN count=2",
            Fail(call="EventSetWait", target="*", code="UNKNOWN", count=2),
        ),
        ("fail nvmlInitWithFlags * UNKNOWN", Fail(call="Init", target="*", code="UNKNOWN")),
        ("heal *", Heal(call="*")),
        ("heal DeviceGetName 3", Heal(call="DeviceGetName", target="3")),
        ("recovery 0 reset", Recover(target="0", action=1)),
        ("recovery 0 unsupported", Recover(target="0", action=None)),
        ("remove 1", Remove(target="1")),
        ("add 1", Add(target="1")),
        ("mig 0 1g.5gb 2g.10gb", Partition(target="0", profiles=("1g.5gb", "2g.10gb"))),
        ("", None),
        ("# nothing", None),
        ("event", None),
        ("event 0 xid=many", None),
        ("recovery 0 dance", None),
        ("dance 0", None),
    ],
)
def test_a_line_is_a_command(line: str, command: Command | None) -> None:
    assert parse_command(line) == command


def test_a_new_events_file_begins_afresh(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text("remove 0\nfail DeviceGetName 1 UNKNOWN\n")
    with opened(node({"gpus": [{"model": "T4", "count": 2}]}), events) as backend:
        faulty = backend.read()
        events.write_text("heal *\n")
        healed = backend.read()
    assert (len(faulty.unreadable), len(faulty.gpus[0].faults)) == (1, 1)
    assert (len(healed.unreadable), [gpu.faults for gpu in healed.gpus]) == (0, [(), ()])


def test_a_line_counts_when_it_is_whole(tmp_path: Path) -> None:
    events = tmp_path / "events"
    with opened(node({"gpus": [{"model": "T4"}]}), events) as backend:
        events.write_text("remo")
        before = backend.read()
        with events.open("a") as file:
            file.write("ve 0\n")
        after = backend.read()
    assert (len(before.gpus), len(after.gpus)) == (1, 0)


def test_the_database_gives_the_devices_of_one_vendor() -> None:
    lines = [
        "# List of PCI IDs",
        "10dd  Somebody",
        "\t20f1  Not this one",
        "10de  NVIDIA Corporation",
        "",
        "\t20f1  GA100 [A100 PCIe 40GB]  ",
        "\t\t10de 145f  A board",
        "\tzzzz  no number",
        "10df  Somebody else",
        "\t1eb8  Not this one",
    ]
    assert device_names(lines) == {0x20F1: "GA100 [A100 PCIe 40GB]"}
