"""What a program is told: file, variables and flags over each other, warnings, refusals and reloading."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from gpu_core.config.layers import Origin, Position, Source
from gpu_core.config.load import load
from gpu_core.config.model import Config, Flags, PluginFlags, ReplicatedResource, ReplicatedResources, Sharing
from gpu_core.config.programs import CONFIG_MANAGER, DEVICE_PLUGIN, GPU_FEATURE_DISCOVERY, MPS_CONTROL_DAEMON
from gpu_core.config.settings import ConfigManagerSettings, PluginSettings
from gpu_core.config.words import DeviceListStrategy, FallbackStrategy, LogLevel, MigStrategy
from gpu_core.errors import ConfigError, UsageError

SHARED = "sharing:\n  mps:\n    resources:\n    - {name: gpu, replicas: 2}\n"


def write(directory: Path, text: str) -> str:
    file = directory / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_without_anything_the_defaults_hold() -> None:
    loaded = load(DEVICE_PLUGIN, [], {})

    assert loaded.config == Config()
    assert loaded.settings == PluginSettings()
    assert loaded.warnings == ()
    assert loaded.config_text_digest == hashlib.sha256(b"").hexdigest()


def test_flags_win_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, "flags: {migStrategy: single, mpsRoot: /file, gdsEnabled: true, nvidiaDriverRoot: /file}\n")
    environ = {"CONFIG_FILE": file, "MIG_STRATEGY": "mixed", "MPS_ROOT": "/variable"}

    loaded = load(DEVICE_PLUGIN, ["--mig-strategy=none", "--driver-root=/flag"], environ)

    assert loaded.config.flags == Flags(mps_root="/variable", gds_enabled=True, nvidia_driver_root="/flag")
    assert loaded.config.flags.dev_root == "/flag"
    assert loaded.origin("flags.migStrategy") == Origin(source=Source.FLAG, name="--mig-strategy")
    assert loaded.origin("flags.mpsRoot") == Origin(source=Source.ENVIRONMENT, name="MPS_ROOT")
    assert loaded.origin("flags.gdsEnabled") == Origin(
        source=Source.FILE, position=Position(file=file, line=1, column=46)
    )
    assert loaded.given("--config-file")
    assert not loaded.given("--kubelet-socket")
    assert str(loaded.origins["flags.gdsEnabled"]) == f"file {file}:1:46"


def test_an_empty_dev_root_is_the_driver_root(tmp_path: Path) -> None:
    file = write(tmp_path, 'flags: {nvidiaDriverRoot: /drv, nvidiaDevRoot: ""}\n')

    loaded = load(DEVICE_PLUGIN, ["--config-file", file], {})

    assert loaded.config.flags.dev_root == "/drv"
    assert loaded.effective()["flags"]["nvidiaDevRoot"] == "/drv"


def test_settings_have_types() -> None:
    loaded = load(
        CONFIG_MANAGER,
        ["--node-name=a", "--config-file-srcdir=/s", "--config-file-dst=/d", "--log-level=debug"],
        {"FALLBACK_STRATEGIES": "named, empty", "SIGNAL": "15", "SEND_SIGNAL": "false", "LOG_FORMAT": ""},
    )

    assert loaded.settings == ConfigManagerSettings(
        node_name="a",
        config_file_srcdir="/s",
        config_file_dst="/d",
        log_level=LogLevel.DEBUG,
        fallback_strategies=(FallbackStrategy.NAMED, FallbackStrategy.EMPTY),
        signal=15,
        send_signal=False,
    )


def test_an_empty_variable_for_a_list_of_words_means_none() -> None:
    environ = {"NODE_NAME": "a", "CONFIG_FILE_SRCDIR": "/s", "CONFIG_FILE_DST": "/d", "FALLBACK_STRATEGIES": ""}

    assert load(CONFIG_MANAGER, [], environ).settings.fallback_strategies == ()


def test_config_manager_does_not_read_the_file_it_manages() -> None:
    environ = {"NODE_NAME": "a", "CONFIG_FILE_SRCDIR": "/s", "CONFIG_FILE_DST": "/d", "CONFIG_FILE": "/absent"}

    assert load(CONFIG_MANAGER, [], environ).config == Config()


def test_settings_that_are_needed_are_asked_for_together() -> None:
    with pytest.raises(ConfigError) as caught:
        load(CONFIG_MANAGER, ["--node-label="], {"NODE_NAME": "a"})

    assert caught.value.problems == (
        "--node-label: is needed; give it a value, or set NODE_LABEL",
        "--config-file-srcdir: is needed; give it a value, or set CONFIG_FILE_SRCDIR",
        "--config-file-dst: is needed; give it a value, or set CONFIG_FILE_DST",
    )


def test_all_problems_of_file_variables_and_flags_come_in_one_go(tmp_path: Path) -> None:
    file = write(tmp_path, "flags: {migStrategy: both, gdsEnabled: 1}\n")

    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, ["--pass-device-specs=x", "--log-level=loud"], {"CONFIG_FILE": file, "KUBE_API_BURST": "x"})

    assert caught.value.problems == (
        f"{file}:1:40: flags.gdsEnabled: expected true or false, found the number 1",
        "environment KUBE_API_BURST: 'x' is no whole number",
        "flag --pass-device-specs: 'x' is neither true nor false",
        f"{file}:1:9: flags.migStrategy: 'both' is not allowed; use none, single or mixed",
        "flag --log-level: 'loud' is not allowed; use debug, info, warning or error",
    )
    assert str(caught.value).startswith(f"The configuration in {file} cannot be used: 5 problems found.\n  {file}:1:40")


def test_of_very_many_problems_the_first_are_told(tmp_path: Path) -> None:
    file = write(tmp_path, "".join(f"k{number}: 1\n" for number in range(80)))

    loaded = load(DEVICE_PLUGIN, ["--config-file", file], {})

    assert len(loaded.warnings) == 51
    assert loaded.warnings[-1] == "and 30 more"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("absent.yaml", "cannot be read: No such file or directory.", id="a missing file"),
        pytest.param(".", "is a directory; name a file in it.", id="a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, [f"--config-file={tmp_path / path}"], {})

    assert str(caught.value) == f"The config file {tmp_path / path} {message}"


def test_a_malformed_command_line_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        load(DEVICE_PLUGIN, ["--quux"], {})


def test_typos_warn_and_are_refused_when_strict(tmp_path: Path) -> None:
    file = write(tmp_path, "flags: {gdsEnabld: true}\n")
    warning = f"{file}:1:9: flags.gdsEnabld: unknown key; did you mean gdsEnabled?"

    assert load(DEVICE_PLUGIN, ["--config-file", file], {}).warnings == (warning,)
    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, ["--config-file", file], {"CONFIG_STRICT": "true"})
    assert caught.value.problems == (warning,)


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


CUSTOM = """\
flags: {customResources: CUSTOM}
resources:
  gpus: [{pattern: "*", name: big}]
  mig: [{pattern: "*", name: small}]
sharing:
  timeSlicing:
    resources:
    - {name: gpu, replicas: 2, rename: shared, devices: 1}
    - {name: big, replicas: 3, rename: other, devices: [0]}
"""


def test_custom_resources_are_ignored_with_one_warning_each(tmp_path: Path) -> None:
    file = write(tmp_path, CUSTOM.replace("CUSTOM", "false"))

    loaded = load(DEVICE_PLUGIN, ["--config-file", file], {})

    hint = "is ignored, as the original ignores it; flags.customResources: true honours it"
    assert loaded.warnings == (
        f"{file}:3:3: resources.gpus: {hint}",
        f"{file}:8:32: sharing.timeSlicing.resources[0].rename: {hint}",
        f"{file}:8:48: sharing.timeSlicing.resources[0].devices: {hint}",
    )
    assert loaded.config.resources.gpus == ()
    assert loaded.config.sharing == Sharing(
        time_slicing=ReplicatedResources(
            resources=(
                ReplicatedResource(name="nvidia.com/gpu", replicas=2),
                ReplicatedResource(name="nvidia.com/big", replicas=3),
            )
        )
    )
    assert load(DEVICE_PLUGIN, ["--config-file", file, "--config-strict"], {}).warnings == loaded.warnings


def test_custom_resources_are_honoured_when_asked(tmp_path: Path) -> None:
    file = write(tmp_path, CUSTOM.replace("CUSTOM", "true"))

    loaded = load(DEVICE_PLUGIN, ["--config-file", file], {})

    assert loaded.warnings == ()
    assert [pattern.name for pattern in loaded.config.resources.mig] == ["nvidia.com/small"]
    assert loaded.config.sharing.replicated.resources[0] == ReplicatedResource(
        name="nvidia.com/gpu", replicas=2, rename="nvidia.com/shared", devices=1
    )
    effective = loaded.effective([("*", "nvidia.com/gpu")])
    assert effective["resources"] == {
        "gpus": [{"pattern": "*", "name": "nvidia.com/big"}],
        "mig": [{"pattern": "*", "name": "nvidia.com/small"}],
    }
    assert effective["sharing"]["timeSlicing"]["resources"][1] == {
        "name": "nvidia.com/big",
        "rename": "nvidia.com/other",
        "devices": ["0"],
        "replicas": 3,
    }
    assert effective["flags"]["customResources"] is True


def test_a_rename_that_is_the_default_one_is_no_warning(tmp_path: Path) -> None:
    text = (
        "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, rename: gpu.shared, replicas: 2}]}}\n"
    )

    loaded = load(DEVICE_PLUGIN, ["--config-file", write(tmp_path, text)], {})

    assert loaded.warnings == ()
    assert loaded.effective()["sharing"]["timeSlicing"]["resources"][0]["rename"] == "nvidia.com/gpu.shared"


def test_our_own_sections_are_in_the_document_when_they_are_given(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "devices: {include: [0], exclude: []}\nhealth: {probeInterval: 5s}\nflags: {plugin: {cdiExtraNames: false}}\n",
    )

    effective = load(DEVICE_PLUGIN, ["--config-file", file], {}).effective()

    assert effective["devices"] == {"include": ["0"]}
    assert effective["health"] == {"probeInterval": "5s"}
    assert effective["flags"]["plugin"]["cdiExtraNames"] is False


def test_reloading_reads_the_file_again(tmp_path: Path) -> None:
    file = write(tmp_path, "flags: {migStrategy: single}\n")
    loaded = load(DEVICE_PLUGIN, ["--gds-enabled", "--config-file", file, "ignored"], {"MOFED_ENABLED": "1"})
    write(tmp_path, "flags: {migStrategy: mixed, plugin: {deviceListStrategy: cdi-cri}}\n")

    again = loaded.reload()

    assert again.config.flags == Flags(
        mig_strategy=MigStrategy.MIXED,
        gds_enabled=True,
        mofed_enabled=True,
        plugin=PluginFlags(device_list_strategy=(DeviceListStrategy.CDI_CRI,)),
    )
    assert again.config_text_digest != loaded.config_text_digest
    write(tmp_path, "flags: []\n")
    with pytest.raises(ConfigError):
        loaded.reload()
