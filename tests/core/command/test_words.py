"""Words on a command line that are no flags: what almost is a subcommand, and what is ignored."""

# ruff: noqa: E501  A case is a line, with its whole message.

from __future__ import annotations

import pytest

from gpu_core.command.words import ignored_words, is_near, refuse_near_miss
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.flags import read_flags
from gpu_core.config.reference import PROGRAMS
from gpu_core.errors import UsageError

NAMES = ("status", "cdi", "check-config", "help")
EVERY_NAME = sorted({name for program in PROGRAMS for name in (*program.subcommands, "help")})


@pytest.mark.parametrize("name", EVERY_NAME)
def test_every_single_slip_is_near(name: str) -> None:
    places = range(len(name))
    missing = {name[:at] + name[at + 1 :] for at in places}
    added = {f"{name[:at]}x{name[at:]}" for at in (*places, len(name))}
    wrong = {f"{name[:at]}x{name[at + 1 :]}" for at in places}
    swapped = {f"{name[:at]}{name[at + 1]}{name[at]}{name[at + 2 :]}" for at in places[:-1]}
    assert [word for word in missing | added | wrong | swapped if not is_near(word, name)] == []


@pytest.mark.parametrize("name", EVERY_NAME)
def test_two_slips_are_another_word(name: str) -> None:
    places = range(len(name) - 1)
    missing = {name[:at] + name[at + 2 :] for at in places}
    added = {f"x{name}x", f"{name}xx", f"xx{name}"}
    wrong = {f"{name[:at]}xx{name[at + 2 :]}" for at in places}
    assert [word for word in missing | added | wrong if is_near(word, name)] == []


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        pytest.param("statsu", "status", id="two letters swapped"),
        pytest.param("satus", "status", id="a letter missing"),
        pytest.param("statuss", "status", id="a letter added"),
        pytest.param("statys", "status", id="a wrong letter"),
        pytest.param("check_config", "check-config", id="another sign between words"),
        pytest.param("STATUS", "status", id="capitals"),
        pytest.param("hlep", "help", id="help"),
    ],
)
def test_a_near_miss_is_refused_with_what_was_meant(word: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        refuse_near_miss(word, NAMES)
    assert str(caught.value) == f"'{word}' is no command; did you mean {meant}?"


@pytest.mark.parametrize("word", ["", "serve", "false", "daemon", "-", "stat", "helpers", "run"])
def test_other_words_are_not_taken_for_a_subcommand(word: str) -> None:
    refuse_near_miss(word, NAMES)


@pytest.mark.parametrize(
    ("argv", "warnings"),
    [
        pytest.param(["--gds-enabled"], [], id="nothing is ignored"),
        pytest.param(["--"], [], id="two dashes with nothing behind them"),
        pytest.param(["serve"], ["'serve' counts for nothing: it is no flag of nvidia-device-plugin and no command; commands are status, cdi, check-config and help."], id="a word"),
        pytest.param(["a", "b"], ["'a' counts for nothing: it is no flag of nvidia-device-plugin and no command, so 'b' behind it counts for nothing either."], id="two words"),
        pytest.param(["--gds-enabled", "false", "--mig-strategy=single", "-"], ["'false' counts for nothing: it is no flag of nvidia-device-plugin and no command, so '--mig-strategy=single', '-' behind it counts for nothing either; a switch takes its value as in --switch=false."], id="a value that stands apart from its switch"),
        pytest.param(["--", "status"], ["'status' counts for nothing, as does whatever stands behind --."], id="a command behind two dashes"),
        pytest.param(["\x1b[2J" + "x" * 80], ["'\\x1b[2J" + "x" * 53 + "...' counts for nothing: it is no flag of nvidia-device-plugin and no command; commands are status, cdi, check-config and help."], id="a long word that would steer a terminal"),
    ],
)  # fmt: skip
def test_what_is_ignored_is_told(argv: list[str], warnings: list[str]) -> None:
    assert list(ignored_words(read_flags(DEVICE_PLUGIN.options, argv), NAMES, "nvidia-device-plugin")) == warnings
