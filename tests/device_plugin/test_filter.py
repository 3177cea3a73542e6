"""What the plugin says of GPUs that its config leaves out."""

from __future__ import annotations

from fakes.running_plugin import run_plugin, topology
from gpu_demo.kubelet import Kubelet, Listed, Registered

A100 = [gpu.uuid for gpu in topology("a100x4-pcie").gpus]


def test_a_filter_that_matches_nothing_is_told_once(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config="devices: {exclude: ['*h100*']}\n") as plugin:
        assert set(kubelet.log.wait_for(Listed).health) == set(A100)
        plugin.rescan()
        assert plugin.log.count("leaves out 0 of the 4 GPUs of this node. No GPU matches what it names") == 1


def test_a_filter_that_leaves_out_everything_is_not_taken_for_a_node_without_gpus(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config="devices: {include: [GPU-typo]}\n") as plugin:
        plugin.rescan()
        assert plugin.log.count("since `devices.include` and `devices.exclude` leave out all") == 1
        assert plugin.log.count("(include: 'GPU-typo')") == 1
        assert plugin.log.count("If this is no GPU node") == 0
        assert kubelet.log.events(Registered) == ()


def test_a_filter_tells_how_many_gpus_it_leaves_out_whenever_that_changes(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config="devices: {exclude: ['0', GPU-of-another-node]}\n") as plugin:
        assert set(kubelet.log.wait_for(Listed).health) == set(A100[1:])
        plugin.config_file.write_text("devices: {exclude: ['0', '1', GPU-of-another-node]}\n", "utf-8")
        plugin.reload()
        notes = [(line["level"], line["event"]) for line in plugin.log.lines() if "leaves out" in line["event"]]
        rest = "of the 4 GPUs of this node. No GPU of it matches exclude: 'GPU-of-another-node'."
        assert notes == [("info", f"The filter `devices` leaves out {count} {rest}") for count in (1, 2)]
