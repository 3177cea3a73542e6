"""What a program is told: file, variables and flags over each other, warnings, refusals and reloading."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from gpu_core.config.layers import Origin, Position, Source
from gpu_core.config.load import load
from gpu_core.config.model import Config, Flags, PluginFlags
from gpu_core.config.programs.config_manager import CONFIG_MANAGER, ConfigManagerSettings
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN, PluginSettings
from gpu_core.config.words import DeviceListStrategy, FallbackStrategy, LogLevel, MigStrategy
from gpu_core.errors import ConfigError, UsageError


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
    assert str(loaded.origin("flags.gdsEnabled")) == f"file {file}:1:46"


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
    assert str(caught.value).startswith(
        f"The configuration in {file}, the command line and the environment cannot be used: 5 problems found.\n"
        f"  {file}:1:40"
    )


@pytest.mark.parametrize(
    ("text", "argv", "environ", "subject"),
    [
        pytest.param("", ["--mig-strategy=both"], {}, "The command line", id="a wrong word of a flag"),
        pytest.param("", ["--log-level=loud"], {}, "The command line", id="one that no file knows"),
        pytest.param("", ["--gds-enabled=maybe"], {}, "The command line", id="a flag that is no boolean"),
        pytest.param("", [], {"MIG_STRATEGY": "both"}, "The environment", id="a variable"),
        pytest.param("", [], {"LOG_LEVEL": "loud"}, "The environment", id="a variable that no file knows"),
        pytest.param("flags: {migStrategy: both}", [], {}, "The configuration in FILE", id="the file"),
        pytest.param(
            "flags: {migStrategy: x}",
            ["--mig-strategy=none"],
            {"LOG_LEVEL": "x"},
            "The environment",
            id="no file whose mistake a flag has mended",
        ),
        pytest.param("flags: [", ["--gds-enabled=x"], {}, "The configuration in FILE and the command line", id="both"),
    ],
)
def test_an_error_is_of_what_has_to_be_mended(
    tmp_path: Path, text: str, argv: list[str], environ: dict[str, str], subject: str
) -> None:
    file = write(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, [f"--config-file={file}", *argv], environ)

    assert str(caught.value).partition(" cannot be used: ")[0] == subject.replace("FILE", file)


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


def test_flags_behind_a_lost_word_are_refused_by_nobody(tmp_path: Path) -> None:
    loaded = load(DEVICE_PLUGIN, ["--config-strict", "--gds-enabled", "true", "--mig-strategy=single"], {})

    assert loaded.config.flags == Flags(gds_enabled=True)


def test_a_named_pipe_is_refused_and_that_of_a_shell_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for name in ("pipe", "link"):
        with pytest.raises(ConfigError, match=f"{name} cannot be read: it is a named pipe and no regular file"):
            load(DEVICE_PLUGIN, ["--config-file", str(tmp_path / name)], {})

    reader, writer = os.pipe()
    os.write(writer, b"flags: {migStrategy: single}\n")
    os.close(writer)
    loaded = load(DEVICE_PLUGIN, [f"--config-file=/dev/fd/{reader}"], {})
    os.close(reader)
    assert loaded.config.flags.mig_strategy == MigStrategy.SINGLE


def test_typos_warn_and_are_refused_when_strict(tmp_path: Path) -> None:
    file = write(tmp_path, "flags: {gdsEnabld: true}\n")
    warning = f"{file}:1:9: flags.gdsEnabld: unknown key; did you mean gdsEnabled?"

    assert load(DEVICE_PLUGIN, ["--config-file", file], {}).warnings == (warning,)
    with pytest.raises(ConfigError) as caught:
        load(DEVICE_PLUGIN, ["--config-file", file], {"CONFIG_STRICT": "true"})
    assert caught.value.problems == (warning,)


def test_our_own_sections_are_in_the_document_when_they_are_given(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "devices: {include: [0], exclude: []}\nhealth: {probeInterval: 5s}\nflags: {plugin: {cdiExtraNames: false}}\n",
    )

    effective = load(DEVICE_PLUGIN, ["--config-file", file], {}).effective()

    assert effective["devices"] == {"include": ["0"]}
    assert effective["health"] == {"probeInterval": "5s"}
    assert effective["flags"]["plugin"]["cdiExtraNames"] is False


def test_a_config_from_a_pipe_is_read_once_only() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"flags: {migStrategy: single}\n")
    os.close(writer)
    try:
        loaded = load(DEVICE_PLUGIN, [f"--config-file=/dev/fd/{reader}"], {})
        assert loaded.config.flags.mig_strategy is MigStrategy.SINGLE
        with pytest.raises(ConfigError) as raised:
            loaded.reload()
    finally:
        os.close(reader)
    assert str(raised.value) == (
        f"The config file /dev/fd/{reader} is a pipe, which can be read once only. Restart with another config, or "
        "name a regular file, which can be read again."
    )


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
