"""Lists at the kubelet's limit: what fits is served whole, what does not is refused before anything is done."""

from __future__ import annotations

from dataclasses import replace

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_plugin.metrics import CONFIG_REFUSED
from device_plugin.plugin_api.messages import ListedDevice, list_message
from fakes.plugin_answers import status
from fakes.running_plugin import run_plugin, topology
from gpu_core.errors import ResourceError
from gpu_core.hardware.source import simulated_source
from gpu_core.resources.list_size import LARGEST_LIST, Row, list_bytes, most_replicas
from gpu_demo.kubelet import Kubelet, Listed
from gpu_kubelet._pb import deviceplugin_pb2 as pb

GPU = "nvidia.com/gpu"
A100 = [gpu.uuid for gpu in topology("a100x4-pcie").gpus]
NUMA = st.none() | st.just(0) | st.integers(1, 2**31 - 1)
REPLICAS = st.sampled_from([0, 1, 2, 9, 10, 11, 99, 100, 101, 1000, 1001]) | st.integers(0, 2000)


def sharing(replicas: int) -> str:
    return f"sharing: {{timeSlicing: {{resources: [{{name: {GPU}, replicas: {replicas}}}]}}}}\n"


def listed(id_: str, numa_node: int | None, replicas: int) -> list[ListedDevice]:
    ids = [f"{id_}::{number}" for number in range(replicas)] or [id_]
    return [ListedDevice(id=id_, healthy=False, numa_node=numa_node) for id_ in ids]


@given(st.lists(st.tuples(st.text(min_size=1, max_size=300), NUMA, REPLICAS), max_size=4))
def test_the_size_that_is_reckoned_is_the_size_that_is_sent(devices: list[tuple[str, int | None, int]]) -> None:
    rows = [Row(id_bytes=len(id_.encode()), numa_node=numa, replicas=replicas) for id_, numa, replicas in devices]
    message = list_message(part for device in devices for part in listed(*device))
    assert list_bytes(rows) == len(message.SerializeToString())


@given(st.lists(st.tuples(st.integers(1, 48), NUMA), min_size=1, max_size=64))
def test_one_replica_more_than_the_most_does_not_fit(devices: list[tuple[int, int | None]]) -> None:
    rows = [Row(id_bytes=length, numa_node=numa, replicas=10**9) for length, numa in devices]
    most = most_replicas(rows)
    sizes = [list_bytes(replace(row, replicas=count) for row in rows) for count in (most, most + 1)]
    assert sizes[0] <= LARGEST_LIST < sizes[1]


def test_a_list_whose_devices_are_well_is_no_longer() -> None:
    good, bad = (list_message([ListedDevice(id="a", healthy=healthy)]).ByteSize() for healthy in (True, False))
    assert good < bad


def test_the_most_replicas_that_fit_are_listed_chosen_from_and_allocated(kubelet: Kubelet) -> None:
    ((uuid, numa),) = [(gpu.uuid, gpu.numa_node) for gpu in topology("t4x1").gpus]
    most = most_replicas([Row(id_bytes=len(uuid), numa_node=numa, replicas=10**9)])
    with run_plugin(kubelet, "t4x1", config=sharing(most)) as plugin:
        devices = kubelet.log.wait_for(Listed, timeout=120.0).devices
        assert len(devices) == most
        every = [device.id for device in devices]
        # What containers before it hold and must keep is named twice: that question is longer than any list.
        question = pb.ContainerPreferredAllocationRequest(available_deviceIDs=every, must_include_deviceIDs=every[1:])
        assert question.ByteSize() > LARGEST_LIST
        assert set(kubelet.preferred(GPU, available=every, must_include=every[1:], size=most)) == set(every)
        (container,) = kubelet.allocate(GPU, every).container_responses
        assert container.envs == {"NVIDIA_VISIBLE_DEVICES": uuid}
        with pytest.raises(grpc.RpcError) as raised:
            kubelet.allocate(GPU, [f"{id_}x" for id_ in every])
        assert status(raised.value) == "INVALID_ARGUMENT"
        # The longest list is the one in which nothing is healthy.
        plugin.say("event 0 xid=79")
        listed = kubelet.log.wait_for(Listed, times=2, timeout=120.0)
        assert {device.health for device in listed.devices} == {"Unhealthy"}


def test_a_start_that_asks_for_more_names_the_most_that_fit(kubelet: Kubelet) -> None:
    with pytest.raises(ResourceError) as refused, run_plugin(kubelet, "a100x4-pcie", config=sharing(10**9)):
        pass
    rows = [
        Row(id_bytes=len(gpu.uuid), numa_node=gpu.numa_node, replicas=10**9) for gpu in topology("a100x4-pcie").gpus
    ]
    assert str(refused.value) == (
        f"The list of {GPU} would have 4000000000 entries and {list_bytes(rows)} bytes, and the kubelet takes "
        f"4194304 bytes at most. On this node 4 devices can be shared in at most {most_replicas(rows)} replicas; "
        f"lower `replicas` in sharing.timeSlicing.resources[0] ({GPU})."
    )


def test_a_reload_that_asks_for_more_leaves_the_config_before(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=sharing(2)) as plugin:
        kubelet.log.wait_for(Listed)
        before = kubelet.log.position
        plugin.config_file.write_text(sharing(50000), "utf-8")
        plugin.reload()
        assert plugin.number(CONFIG_REFUSED) == 1
        assert plugin.log.count("can be shared in at most") >= 1
        assert (kubelet.log.position, len(kubelet.devices(GPU))) == (before, 8)


def test_a_gpu_that_would_make_the_list_too_long_changes_nothing_and_is_told(kubelet: Kubelet) -> None:
    happenings = kubelet.directory.parent / f"{kubelet.directory.name}.d" / "events"
    held = {"bound": frozenset("012")}
    source = replace(simulated_source(topology("a100x4-pcie"), happenings), bound=lambda: held["bound"])
    with run_plugin(kubelet, source, config=sharing(20000), before=["remove 3"]) as plugin:
        kubelet.log.wait_for(Listed, timeout=120.0)
        before = kubelet.log.position
        plugin.say("add 3")
        held["bound"] = frozenset("0123")
        plugin.rescan()
        said = [line for line in plugin.log.lines() if "What is served stays as it was" in line["event"]]
        assert [line for line in said if "4 devices can be shared in at most" in line["event"]] == said != []
        assert {line["level"] for line in said} == {"warning"}
        assert kubelet.log.position == before
        assert {device.id.partition("::")[0] for device in kubelet.devices(GPU)} == set(A100[:3])
