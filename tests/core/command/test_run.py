"""The start of a program: what its command line asks for, exit codes, and errors in one message."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import pytest

from gpu_core.command import Invocation, Subcommand, run_program
from gpu_core.config.load import Loaded
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.programs.options import Group, setting
from gpu_core.errors import ConfigError, HardwareError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    depth: int = setting("depth", ["PROBE_DEPTH"], "How deep.", default=1, group=Group.DEVICES)
    mig_strategy: str = setting("mig-strategy", [], "Another meaning here.", default="own", group=Group.DEVICES)


@dataclass
class Started:
    """Remembers what was run."""

    loaded: list[Loaded[Any]] = field(default_factory=list)
    invocations: list[Invocation] = field(default_factory=list)

    def main(self, loaded: Loaded[Any]) -> int:
        self.loaded.append(loaded)
        return 7

    def probe(self, invocation: Invocation) -> int:
        self.invocations.append(invocation)
        return 5

    def run(self, *argv: str, environ: Mapping[str, str] | None = None) -> int:
        probe = Subcommand(
            name="probe", doc="Look at a device.", run=self.probe, arguments=("DEVICE",), settings=ProbeSettings
        )
        draw = Subcommand(name="draw", doc="Draw.", run=self.probe, arguments=("all|some", "FILE"))
        return run_program(DEVICE_PLUGIN, argv, environ or {}, self.main, subcommands=[probe, draw])


@pytest.fixture
def started() -> Started:
    return Started()


def test_runs_the_program_with_what_it_was_told(started: Started) -> None:
    assert started.run("--gds-enabled", environ={"MIG_STRATEGY": "single"}) == 7

    (loaded,) = started.loaded
    assert (loaded.config.flags.gds_enabled, loaded.config.flags.mig_strategy) == (True, "single")


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["extra", "--gds-enabled"], id="an argument that is no subcommand"),
        pytest.param(["--", "probe"], id="the name of a subcommand behind two dashes"),
        pytest.param(["--", "prob"], id="almost one behind two dashes"),
    ],
)
def test_ignores_other_arguments_and_says_so_before_it_does_anything(
    started: Started, capsys: pytest.CaptureFixture[str], argv: Sequence[str]
) -> None:
    def main(loaded: Loaded[Any]) -> int:
        (line,) = capsys.readouterr().err.splitlines()
        assert json.loads(line)["event"].startswith(f"'{argv[0].replace('--', argv[1])}' counts for nothing")
        return started.main(loaded)

    assert run_program(DEVICE_PLUGIN, argv, {}, main) == 7
    assert not started.loaded[0].config.flags.gds_enabled


def test_what_is_ignored_is_told_also_where_nothing_can_be_loaded(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    assert started.run("serve", environ={"CONFIG_FILE": "/absent"}) == 1
    assert capsys.readouterr().err == (
        "nvidia-device-plugin: 'serve' counts for nothing: it is no flag of nvidia-device-plugin and no command; "
        "commands are probe, draw, simulated-nodes, check-config and help.\n"
        "nvidia-device-plugin: The config file /absent cannot be read: No such file or directory.\n"
    )


@pytest.mark.parametrize("word", ["prob", "porbe", "probes", "prove", "PROBE", "check-confg", "hepl"])
def test_a_mistyped_subcommand_starts_nothing(started: Started, capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert started.run("--gds-enabled", word, environ={"CONFIG_FILE": "/absent"}) == 1
    assert started.loaded == []
    meant = {"check-confg": "check-config", "hepl": "help"}.get(word, "probe")
    assert capsys.readouterr() == ("", f"nvidia-device-plugin: '{word}' is no command; did you mean {meant}?\n")


def test_a_subcommand_takes_flags_of_its_own_and_of_the_program_on_all_sides(started: Started) -> None:
    code = started.run(
        "--gds-enabled", "probe", "--depth=3", "gpu0", "--mofed-enabled", environ={"CUSTOM_RESOURCES": "1"}
    )

    assert code == 5
    (invocation,) = started.invocations
    assert invocation.arguments == ("gpu0",)
    assert invocation.own_settings() == ProbeSettings(depth=3)
    flags = invocation.load().config.flags
    assert (flags.gds_enabled, flags.mofed_enabled, flags.custom_resources) == (True, True, True)


def test_a_flag_of_a_subcommand_hides_one_of_the_program(started: Started) -> None:
    started.run("probe", "gpu0", "--mig-strategy=deep", environ={"PROBE_DEPTH": "2"})

    (invocation,) = started.invocations
    assert invocation.own_settings() == ProbeSettings(depth=2, mig_strategy="deep")
    assert invocation.load().config.flags.mig_strategy == "none"


def test_such_a_flag_means_the_same_before_the_subcommand(started: Started) -> None:
    started.run("--mig-strategy=deep", "probe", "gpu0")

    (invocation,) = started.invocations
    assert invocation.own_settings() == ProbeSettings(mig_strategy="deep")
    assert invocation.load().config.flags.mig_strategy == "none"


def test_two_dashes_end_the_flags_of_a_subcommand(started: Started) -> None:
    started.run("probe", "--", "--gpu0")

    assert started.invocations[0].arguments == ("--gpu0",)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["--quux"], "--quux is no flag; --help lists them", id="an unknown flag"),
        pytest.param(["probe"], "probe needs DEVICE; see probe --help", id="a missing argument"),
        pytest.param(["draw"], "draw needs all or some and FILE; see draw --help", id="a missing choice of words"),
        pytest.param(["probe", "a", "b"], "probe does not take 'b'; see probe --help", id="an argument too many"),
        pytest.param(["probe", "a", "--quux"], "--quux is no flag; --help lists them", id="an unknown flag behind"),
    ],
)
def test_a_wrong_command_line_ends_with_one_line(
    started: Started, capsys: pytest.CaptureFixture[str], argv: Sequence[str], message: str
) -> None:
    assert started.run(*argv) == 1
    assert capsys.readouterr().err == f"nvidia-device-plugin: {message}\n"


def test_a_subcommand_needs_no_value_for_what_may_be_left_away(started: Started) -> None:
    code = run_program(DEVICE_PLUGIN, ["look"], {}, started.main, subcommands=[
        Subcommand(name="look", doc="Look.", run=started.probe, arguments=("[DEVICE]",))
    ])  # fmt: skip

    assert (code, started.invocations[0].arguments) == (5, ())


def test_wrong_settings_of_a_subcommand_are_a_config_error(started: Started) -> None:
    started.run("probe", "a", environ={"PROBE_DEPTH": "x"})

    with pytest.raises(ConfigError, match="environment PROBE_DEPTH: 'x' is no whole number"):
        started.invocations[0].own_settings()


def test_a_failure_of_the_program_is_told_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def main(_: Loaded[Any]) -> int:
        raise HardwareError("No GPU answers; look at dmesg.")

    assert run_program(GPU_FEATURE_DISCOVERY, [], {}, main) == 1
    assert capsys.readouterr() == ("", "gpu-feature-discovery: No GPU answers; look at dmesg.\n")


def test_a_mistake_of_the_program_is_told_as_python_tells_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def main(_: Loaded[Any]) -> int:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    assert run_program(GPU_FEATURE_DISCOVERY, [], {}, main) == 1
    lines = capsys.readouterr().err.splitlines()
    assert (lines[0], lines[-1]) == ("Traceback (most recent call last):", "RuntimeError: a mistake of ours")


def test_an_interrupted_program_ends_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    def main(_: Loaded[Any]) -> int:
        raise KeyboardInterrupt

    assert run_program(GPU_FEATURE_DISCOVERY, [], {}, main) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", ["--version", "-v", "-version", "probe --version", "--gds-enabled probe -v gpu0"])
def test_tells_the_version(started: Started, capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert started.run(*words.split()) == 0
    first, python, *distributions = capsys.readouterr().out.splitlines()
    assert first == f"NVIDIA Device Plugin version {metadata.version('gpu-suite-core')}"
    assert python == f"Python {platform.python_version()}"
    assert f"grpcio {metadata.version('grpcio')}" in distributions
