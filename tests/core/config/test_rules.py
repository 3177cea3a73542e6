"""What must hold between values, and which program refuses what."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_core.config.load import load
from gpu_core.config.model import PluginFlags
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
from gpu_core.config.words import SharingStrategy
from gpu_core.errors import ConfigError

SHARED = "sharing:\n  mps:\n    resources:\n    - {name: gpu, replicas: 2}\n"


def write(directory: Path, text: str) -> str:
    file = directory / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_words_of_another_program_only_warn(tmp_path: Path) -> None:
    file = write(tmp_path, "flags: {plugin: {deviceIDStrategy: minor, deviceListStrategy: [envvar, foo]}}\n")

    loaded = load(GPU_FEATURE_DISCOVERY, ["--config-file", file], {})

    assert [line.partition(": ")[2] for line in loaded.warnings] == [
        "flags.plugin.deviceIDStrategy: 'minor' is not allowed; use uuid or index",
        "flags.plugin.deviceListStrategy: 'foo' is not allowed; use envvar, volume-mounts, cdi-annotations or cdi-cri",
    ]
    assert loaded.config.flags.plugin == PluginFlags()
    assert loaded.effective()["flags"]["plugin"]["deviceIDStrategy"] == "minor"


def test_a_wrong_mig_strategy_stops_gpu_feature_discovery_only_after_the_config_is_logged() -> None:
    loaded = load(GPU_FEATURE_DISCOVERY, ["--mig-strategy=both"], {})

    assert loaded.effective()["flags"]["migStrategy"] == "both"
    with pytest.raises(ConfigError, match="'both' is not allowed; use none, single or mixed"):
        loaded.raise_refused()
    with pytest.raises(ConfigError):
        load(GPU_FEATURE_DISCOVERY, ["--mig-strategy=both", "--config-strict"], {})
    load(GPU_FEATURE_DISCOVERY, [], {}).raise_refused()


def test_discovery_strategies_are_the_programs_own() -> None:
    assert load(GPU_FEATURE_DISCOVERY, ["--device-discovery-strategy=vfio"], {}).refused == ()
    with pytest.raises(ConfigError, match="'vfio' is not allowed; use auto, nvml or tegra"):
        load(DEVICE_PLUGIN, ["--device-discovery-strategy=vfio"], {})


def test_an_unknown_policy_of_an_entry_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, SHARED.replace("2}", "2, allocationPolicy: spread}"))

    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, ["--config-file", file, "--mps-root=/m"], {})

    assert caught.value.problems == (
        f"{file}:4:32: sharing.mps.resources[0].allocationPolicy: 'spread' is not allowed; use distributed or packed",
    )


@pytest.mark.parametrize(
    ("text", "where", "period"),
    [
        pytest.param("health: {probeInterval: 1ns}", "1:10: health.probeInterval: 1ns", 0.1, id="1ns"),
        pytest.param("health: {probeInterval: 99ms}", "1:10: health.probeInterval: 99ms", 0.1, id="99ms"),
        pytest.param("health: {probeInterval: 100ms}", None, 0.1, id="100ms"),
        pytest.param("health: {probeInterval: 2s}", None, 2.0, id="2s"),
    ],
)
def test_an_interval_of_less_than_100_ms_counts_as_that_with_a_warning(
    tmp_path: Path, text: str, where: str | None, period: float
) -> None:
    file = write(tmp_path, text)
    told = () if where is None else (f"{file}:{where} is too short and counts as 100ms",)
    for strict in ([], ["--config-strict"]):
        loaded = load(DEVICE_PLUGIN, ["--config-file", file, *strict], {})
        assert (loaded.config.health.probe_interval.period, loaded.warnings) == (period, told)
    assert load(GPU_FEATURE_DISCOVERY, ["--config-file", file], {}).warnings == ()


def test_rescans_of_0s_stay_off_and_every_other_short_interval_is_told() -> None:
    assert load(DEVICE_PLUGIN, ["--rescan-interval=0s"], {}).warnings == ()
    assert load(DEVICE_PLUGIN, ["--rescan-interval=1ns"], {}).warnings == (
        "flag --rescan-interval: 1ns is too short and counts as 100ms",
    )
    assert load(GPU_FEATURE_DISCOVERY, ["--sleep-interval=-1s"], {}).warnings == (
        "flag --sleep-interval: -1s is too short and counts as 100ms",
    )


def test_a_device_that_an_entry_names_twice_is_told_with_its_line(tmp_path: Path) -> None:
    entry = f"- {{name: gpu, replicas: 2, devices: [0, GPU-{'0' * 32}, 0]}}"
    text = f"flags: {{customResources: true}}\nsharing:\n  timeSlicing:\n    resources:\n    {entry}\n"
    file = write(tmp_path, text)
    problem = f"{file}:5:32: sharing.timeSlicing.resources[0].devices: 0 is named 2 times; name each device once"
    assert load(DEVICE_PLUGIN, ["--config-file", file], {}).warnings == (problem,)
    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, ["--config-file", file, "--config-strict"], {})
    assert caught.value.problems == (problem,)


def test_limits_of_mps_are_told_where_gpus_are_shared_in_time(tmp_path: Path) -> None:
    """Who writes them there would believe that containers are kept within them."""
    limits = "memoryLimitMiB: 100, memoryFactor: 1.5, activeThreadPercentage: 50"
    text = "sharing: {{{}: {{resources: [{{name: gpu, replicas: 2, {}}}]}}}}\n"
    file = write(tmp_path, text.format("timeSlicing", limits))
    rest = "limits nothing: containers that take turns have no limits; sharing.mps has"
    problems = tuple(
        f"{file}:1:{column}: sharing.timeSlicing.resources[0].{key}: {rest}"
        for column, key in ((62, "memoryLimitMiB"), (83, "memoryFactor"), (102, "activeThreadPercentage"))
    )

    assert load(DEVICE_PLUGIN, ["--config-file", file], {}).warnings == problems
    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, ["--config-file", file, "--config-strict"], {})
    assert caught.value.problems == problems
    for section, keys in (("mps", limits), ("timeSlicing", "memoryLimitMiB: null")):
        file = write(tmp_path, text.format(section, keys))
        assert load(DEVICE_PLUGIN, ["--config-file", file, "--mps-root=/mps"], {}).warnings == ()


def test_only_channel_zero_can_be_injected() -> None:
    with pytest.raises(ConfigError, match=r"environment IMEX_CHANNEL_IDS: \[1\] cannot be injected"):
        load(DEVICE_PLUGIN, [], {"IMEX_CHANNEL_IDS": "1"})
    assert load(DEVICE_PLUGIN, ["--imex-channel-ids=0"], {}).config.imex.channel_ids == (0,)


def test_mps_needs_a_root_and_does_not_go_with_mixed_mig(tmp_path: Path) -> None:
    file = write(tmp_path, SHARED)

    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, ["--mig-strategy=mixed", "--config-file", file], {})

    assert caught.value.problems == (
        "flag --mig-strategy: MPS cannot share MIG devices; with sharing.mps, the MIG strategy must be none or single",
        "flags.mpsRoot: sharing.mps needs the directory that daemons and clients share; set --mps-root",
    )
    assert load(MPS_CONTROL_DAEMON, ["--config-file", file], {}).config.sharing.fail_requests_greater_than_one
    with pytest.raises(ConfigError):
        load(MPS_CONTROL_DAEMON, ["--config-file", file, "--mig-strategy=mixed"], {})
    assert load(GPU_FEATURE_DISCOVERY, ["--config-file", file, "--mig-strategy=mixed"], {}).refused == ()


def test_tells_that_time_slicing_is_ignored_beside_mps(tmp_path: Path) -> None:
    entries = "{resources: [{name: gpu, replicas: 2}]}"
    file = write(tmp_path, f"sharing: {{timeSlicing: {entries}, mps: {entries}}}\n")

    loaded = load(MPS_CONTROL_DAEMON, ["--config-file", file, "--config-strict"], {"ANY_SECRET": "hidden"})

    assert loaded.warnings == (
        f"{file}:1:25: sharing.timeSlicing.resources: is ignored, because sharing.mps is given too",
    )
    assert loaded.config.sharing.strategy is SharingStrategy.MPS
    assert "hidden" not in repr(loaded)
