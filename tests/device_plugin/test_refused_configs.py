"""A config that cannot be used: whatever it asks for, nothing is done by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from device_plugin.metrics import CONFIG_REFUSED
from fakes.running_plugin import run_plugin, topology
from fakes.waiting import wait_for
from gpu_core.config.model import Config
from gpu_core.config.words import MigStrategy
from gpu_core.devices.backend import Backend
from gpu_core.errors import SuiteError
from gpu_core.hardware.source import simulated_source
from gpu_demo.kubelet import Kubelet, Listed

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    "config",
    [
        pytest.param("version: v9\n", id="a version that does not exist"),
        pytest.param("flags: {migStrategy: single}\n", id="a strategy that the node does not allow"),
        pytest.param("imex: {channelIDs: [0], required: true}\n", id="a channel that the node lacks"),
    ],
)
def test_a_config_that_cannot_be_used_leaves_the_one_before(kubelet: Kubelet, config: str) -> None:
    with run_plugin(kubelet, "hetero-mig", config="version: v1\n") as plugin:
        kubelet.log.wait_for(Listed)
        before = kubelet.log.position
        plugin.config_file.write_text(config, "utf-8")
        plugin.reload()
        assert kubelet.log.position == before
        assert plugin.log.count("The new configuration is not used") >= 1
        assert plugin.number(CONFIG_REFUSED) == 1
        assert kubelet.admit(GPU, 1).devices
        plugin.config_file.write_text("version: v1\n", "utf-8")
        plugin.reload()
        assert plugin.number(CONFIG_REFUSED) == 0


def test_a_refused_config_leaves_the_driver_opened_as_the_one_before_asks(kubelet: Kubelet) -> None:
    source, roots = simulated_source(topology("hetero-mig")), list[str]()

    def opened(config: Config) -> Backend:
        roots.append(config.flags.plugin.container_driver_root)
        return source.open(config)

    # No other look at the GPUs comes to the rescue.
    config = "flags: {plugin: {rescanInterval: 0s}}\n"
    with run_plugin(kubelet, replace(source, open=opened), config=config) as plugin:
        kubelet.log.wait_for(Listed)
        # That this node allows no `single` shows only once its GPUs were read, through the driver from elsewhere.
        config = "flags: {migStrategy: single, plugin: {rescanInterval: 0s, containerDriverRoot: /elsewhere}}\n"
        plugin.config_file.write_text(config, "utf-8")
        plugin.reload()
        assert plugin.log.count("The new configuration is not used") >= 1
        usual = Config().flags.plugin.container_driver_root
        wait_for(lambda: roots[:2] + roots[-1:] == [usual, "/elsewhere", usual], "the driver stays the other one")


def test_by_a_refused_config_nothing_is_judged(socket_dir: Path) -> None:
    with run_plugin(socket_dir, "hetero-mig") as plugin:
        node = plugin.app.node
        before, read = node.health.rules, node.read(Config())
        single = replace(Config(), flags=replace(Config().flags, mig_strategy=MigStrategy.SINGLE))
        with pytest.raises(SuiteError, match="single"):
            node.serve(read, single, replace(before, quiet=before.quiet + 1))
        assert node.health.rules == before
