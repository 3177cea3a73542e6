"""The resources that are served: what their lists say just before the first stream and after the last device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.health.books import book_of, xid
from core.resources.building import node_of, whole_gpu
from device_plugin.allocation.allocate import Rules
from device_plugin.plugin_api.messages import ListedDevice
from device_plugin.plugin_api.plugins import KubeletSockets, Plugins, ResourcePlugin
from device_plugin.plugin_api.servicer import Serving
from device_plugin.status.running import over_sockets
from fakes.waiting import wait_for
from gpu_core.config.model import Config
from gpu_core.health.book import HealthBook
from gpu_core.resources.device_map import build_resources
from gpu_core.runtime.counters import Counters

GPU = "nvidia.com/gpu"
NODE = node_of(whole_gpu(0))
HEALTHY = book_of(NODE)
UNHEALTHY = HEALTHY.after_event(xid(79), 1.0)[0]
((RESOURCE,), _) = build_resources(NODE, Config())
SERVING = Serving(resource=RESOURCE, links={}, rules=Rules())


def in_turn(*books: HealthBook) -> Callable[[], HealthBook]:
    """Give these books, one after the other, and the last one from then on."""
    left = list(books)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_resource_that_was_withdrawn_lists_no_device_again_whatever_becomes_of_its_health(socket_dir: Path) -> None:
    plugin = ResourcePlugin(
        KubeletSockets(directory=socket_dir, kubelet=None).of(GPU),
        SERVING,
        in_turn(HEALTHY, UNHEALTHY),
        ready=lambda: None,
        counters=Counters(),
    )
    lists = [plugin.listing]
    plugin.farewell()
    plugin.refresh()
    lists.append(plugin.listing)
    assert lists == [(ListedDevice(id="GPU-0"),), ()]


def test_a_gpu_that_fails_while_its_resource_is_made_is_unhealthy_in_the_first_list(socket_dir: Path) -> None:
    sockets = KubeletSockets(directory=socket_dir, kubelet=None)
    plugins = Plugins(sockets, in_turn(HEALTHY, UNHEALTHY), ready=lambda _: None, counters=Counters())
    plugins.apply({GPU: SERVING})
    try:
        wait_for(lambda: all(check.ok for _, check in plugins.standing()), "the resource is not served")
        (listed,) = over_sockets(socket_dir)["resources"]
        assert (listed["listed"], listed["healthy"]) == (1, 0)
    finally:
        plugins.stop()
