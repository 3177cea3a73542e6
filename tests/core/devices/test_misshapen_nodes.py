"""Node files in which one value has another shape: a message, or a node that can be read, and never a traceback."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from core.devices.nodes import node, opened
from gpu_core.errors import ConfigError, DriverMissingError

WHOLE: dict[str, Any] = {
    "description": "Two GPUs",
    "platform": "nvml",
    "machine": "A machine",
    "driver": "550.90.07",
    "cuda": "12.4",
    "mig_minors": True,
    "imex_channels": [0],
    "cuda_device": {"name": "Orin", "memory": 5, "compute_capability": "8.7"},
    "gpus": [
        {
            "model": "A100-SXM4-40GB",
            "count": 2,
            "uuid": ["GPU-a", "GPU-b"],
            "name": "A GPU",
            "minor": [0, 1],
            "bus_id": ["00000000:07:00.0", "00000000:08:00.0"],
            "pci_id": 0x20B010DE,
            "pci_class": 0x030200,
            "numa": 0,
            "memory": 400,
            "compute_capability": "8.0",
            "brand": 1,
            "addressing_mode": 1,
            "events": ["xid"],
            "recovery": "none",
            "mig": {
                "enabled": True,
                "devices": ["1g.5gb", {"profile": "3g.20gb", "gpu_instance": 1, "compute_instance": 0}],
                "max": 7,
            },
            "fabric": {"state": 3, "status": 0, "clique": 1, "cluster": "00000000-0000-0000-0000-000000000001"},
            "sysfs": True,
            "vgpu": {"version": "1", "branch": "2"},
        }
    ],
    "links": {
        "default": "SYS",
        "groups": [{"level": "NODE", "gpus": [0, 1]}],
        "pairs": {"0-1": "PIX"},
        "nvlinks": {"all": 1, "pairs": {"0-1": 2}, "oneway": {"1-0": 2}, "switch": 1},
    },
}

OTHERS = [None, True, -1, 1 << 33, 1.5, "", "x", "²", "0c.1g.5gb", [], ["x"], [None], {}, {"x": 1}]


def places(value: Any, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to every value in a document."""
    pairs: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, dict):
        pairs = iter(value.items())
    elif isinstance(value, list):
        pairs = iter(enumerate(value))
    for key, inner in pairs:
        yield (*here, key)
        yield from places(inner, (*here, key))


def with_other(place: tuple[str | int, ...], other: object) -> Any:
    """Return the whole document with another value at one place."""
    document = copy.deepcopy(WHOLE)
    holder: Any = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = other
    return document


def test_the_whole_document_is_read() -> None:
    with opened(node(WHOLE)) as backend:
        assert [gpu.uuid for gpu in backend.read(links=True).gpus] == ["GPU-a", "GPU-b"]


@pytest.mark.parametrize("place", tuple(places(WHOLE)), ids=lambda place: ".".join(map(str, place)))
def test_a_value_of_another_shape_is_refused_or_read(place: tuple[str | int, ...]) -> None:
    for other in OTHERS:
        try:
            simulated = node(with_other(place, other))
        except ConfigError:
            continue
        try:
            with opened(simulated) as backend:
                backend.read(links=True)
        except DriverMissingError:
            assert place == ("platform",)


@pytest.mark.parametrize(
    ("place", "other", "message"),
    [
        (("gpus", 0, "name"), "x" * 96, r"gpus\[0\]\.name: 'xxxxxxxxxxxxxxxxxxxx'… is longer than the 95 bytes"),
        (("gpus", 0, "name"), "é" * 48, r"longer than the 95 bytes"),
        (("gpus", 0, "uuid"), ["GPU-a", "GPU-" + "b" * 92], r"gpus\[0\]\.uuid: .* longer than the 95 bytes"),
        (("driver",), "5" * 80, r"driver: .* longer than the 79 bytes"),
        (("gpus", 0, "uuid"), "GPU-a", r"two devices have the UUID GPU-a\. Give each its own, or none"),
    ],
    ids=["a long name", "a name long in bytes", "a long UUID", "a long driver version", "one UUID twice"],
)
def test_texts_that_no_driver_could_give_are_refused(place: tuple[str | int, ...], other: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        node(with_other(place, other))


def test_the_longest_name_is_read_whole() -> None:
    with opened(node(with_other(("gpus", 0, "name"), "x" * 95))) as backend:
        assert {gpu.name for gpu in backend.read().gpus} == {"x" * 95}
