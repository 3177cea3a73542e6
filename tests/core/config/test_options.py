"""Flags and variables, by the rules of Go's flag package and of the original's command line library."""

# ruff: noqa: E501  A case is a line, with its whole message.

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpu_core.config.duration import Duration
from gpu_core.config.layers import Layer, dotted
from gpu_core.config.programs.config_manager import CONFIG_MANAGER
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.flags import read_flags
from gpu_core.config.programs.given import environment_layer, flag_layer
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.errors import UsageError

OPTIONS = DEVICE_PLUGIN.options
GFD_OPTIONS = GPU_FEATURE_DISCOVERY.options


def values(layer: Layer) -> dict[str, object]:
    return {dotted(path): given.value for path, given in layer.items()}


def flags(*argv: str) -> dict[str, object]:
    layer, problems = flag_layer(read_flags((*OPTIONS, *GFD_OPTIONS[2:5]), argv))
    assert not problems
    return values(layer)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(["--mig-strategy=single"], {"flags.migStrategy": "single"}, id="two dashes"),
        pytest.param(["-mig-strategy=single"], {"flags.migStrategy": "single"}, id="one dash"),
        pytest.param(["--mig-strategy", "single"], {"flags.migStrategy": "single"}, id="a value of its own"),
        pytest.param(["--mig-strategy", "--help"], {"flags.migStrategy": "--help"}, id="a value that looks like a flag"),
        pytest.param(["--mig-strategy=a", "--mig-strategy=b"], {"flags.migStrategy": "b"}, id="the last one wins"),
        pytest.param(["--mig-strategy="], {"flags.migStrategy": ""}, id="an empty value"),
        pytest.param(["--dev-root=/a=b"], {"flags.nvidiaDevRoot": "/a=b"}, id="an equals sign in the value"),
        pytest.param(["--nvidia-dev-root=/a"], {"flags.nvidiaDevRoot": "/a"}, id="an alias"),
        pytest.param(["--gds-enabled"], {"flags.gdsEnabled": True}, id="a boolean alone"),
        pytest.param(["--gds-enabled=F"], {"flags.gdsEnabled": False}, id="a boolean with a value"),
        pytest.param(["--gds-enabled", "false", "--mig-strategy=x"], {"flags.gdsEnabled": True}, id="a boolean takes no value of its own, so that reading stops"),
        pytest.param(["x", "--gds-enabled"], {}, id="reading stops at an argument"),
        pytest.param(["-", "--gds-enabled"], {}, id="a single dash is an argument"),
        pytest.param(["--", "--gds-enabled"], {}, id="reading stops at two dashes"),
        pytest.param(["--device-list-strategy=a, b", "--device-list-strategy=c"], {"flags.plugin.deviceListStrategy": ("a", "b", "c")}, id="a list, with commas and repeated"),
        pytest.param(["--cdi-feature-flags="], {"--cdi-feature-flags": ("",)}, id="an empty list has an empty item"),
        pytest.param(["--imex-channel-ids=0, 0x1"], {"imex.channelIDs": (0, 1)}, id="a list of numbers"),
        pytest.param(["--kube-api-burst=010"], {"--kube-api-burst": 8}, id="an octal number"),
        pytest.param(["--kube-api-qps=2.5"], {"--kube-api-qps": 2.5}, id="a fraction"),
        pytest.param(["--sleep-interval=1h"], {"flags.gfd.sleepInterval": Duration.of(seconds=3600)}, id="a duration"),
    ],
)  # fmt: skip
def test_reads_flags(argv: list[str], expected: dict[str, object]) -> None:
    assert flags(*argv) == expected


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["--mig"], "--mig is no flag; did you mean --mig-strategy?", id="an abbreviation"),
        pytest.param(["--mgi-strategy=x"], "--mgi-strategy is no flag; did you mean --mig-strategy?", id="a typo"),
        pytest.param(["--quux"], "--quux is no flag; --help lists them", id="an unknown flag"),
        pytest.param(["---x"], "'---x' is no flag", id="three dashes"),
        pytest.param(["--=x"], "'--=x' is no flag", id="no name"),
        pytest.param(["--mig-strategy"], "--mig-strategy needs a value", id="a missing value"),
        pytest.param(
            ["--dev-root=/a", "--nvidia-dev-root=/b"],
            "--dev-root and --nvidia-dev-root are the same flag",
            id="two names of one flag",
        ),
    ],
)
def test_refuses_what_is_no_flag(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_flags(OPTIONS, argv)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["-o"], "-o needs a value; write -o=VALUE", id="no value"),
        pytest.param(
            ["-o", "a", "--output=b"], "-o and --output are the same flag; give only one of them", id="its long name"
        ),
    ],
)
def test_a_flag_of_one_letter_is_called_with_one_dash(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_flags(GFD_OPTIONS, argv)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param("--gds-enabled=yes", "flag --gds-enabled: 'yes' is neither true nor false", id="a boolean"),
        pytest.param("--kube-api-burst=x", "flag --kube-api-burst: 'x' is no whole number", id="a whole number"),
        pytest.param("--kube-api-burst=", "flag --kube-api-burst: '' is no whole number", id="an empty whole number"),
        pytest.param(
            f"--kube-api-burst={2**63}", f"flag --kube-api-burst: '{2**63}' is no whole number", id="a huge one"
        ),
        pytest.param("--rescan-interval=-1s", "flag --rescan-interval: -1s is negative", id="a negative duration"),
        pytest.param("--kube-api-qps=x", "flag --kube-api-qps: 'x' is no number", id="a number"),
        pytest.param("--imex-channel-ids=", "flag --imex-channel-ids: '' is no whole number", id="an empty list"),
    ],
)
def test_says_which_flag_is_wrong(argv: str, message: str) -> None:
    _, problems = flag_layer(read_flags(OPTIONS, [argv]))

    assert [str(problem) for problem in problems] == [message]


def test_takes_wishes_and_leaves_the_rest() -> None:
    line = read_flags(OPTIONS, ["-h", "--version", "check-config", "--gds-enabled"])

    assert (line.help, line.version, line.rest, line.stopped) == (True, True, ("check-config", "--gds-enabled"), False)
    assert read_flags(OPTIONS, ["--", "check-config"]).stopped


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"MIG_STRATEGY": "single", "OTHER": "x"}, {"flags.migStrategy": "single"}, id="a text"),
        pytest.param({"MIG_STRATEGY": ""}, {"flags.migStrategy": ""}, id="an empty text counts"),
        pytest.param({"GDS_ENABLED": "T"}, {"flags.gdsEnabled": True}, id="a boolean"),
        pytest.param({"GDS_ENABLED": ""}, {"flags.gdsEnabled": False}, id="an empty boolean is false"),
        pytest.param({"FAIL_ON_INIT_ERROR": ""}, {"flags.failOnInitError": False}, id="even where true is the default"),
        pytest.param({"DEVICE_LIST_STRATEGY": "a, b"}, {"flags.plugin.deviceListStrategy": ("a", "b")}, id="a list"),
        pytest.param({"DEVICE_LIST_STRATEGY": ""}, {"flags.plugin.deviceListStrategy": ("",)}, id="an empty list has an empty item"),
        pytest.param({"CDI_FEATURE_FLAGS": ""}, {"--cdi-feature-flags": ("",)}, id="so has an empty list of texts"),
        pytest.param({"IMEX_CHANNEL_IDS": ""}, {}, id="an empty list of numbers is absent"),
        pytest.param({"KUBE_API_BURST": ""}, {}, id="an empty number is absent"),
        pytest.param({"RESCAN_INTERVAL": ""}, {}, id="an empty duration is absent"),
        pytest.param({"NVIDIA_CDI_HOOK_PATH": "", "NVIDIA_CTK_PATH": "/b"}, {"flags.plugin.nvidiaCTKPath": ""}, id="of several the first counts, even empty"),
        pytest.param({"DP_DISABLE_HEALTHCHECKS": "all"}, {"DP_DISABLE_HEALTHCHECKS": "all"}, id="a variable without a flag"),
    ],
)  # fmt: skip
def test_reads_variables(environ: Mapping[str, str], expected: dict[str, object]) -> None:
    layer, problems = environment_layer(OPTIONS, environ)

    assert values(layer) == expected
    assert not problems


def test_says_which_variable_is_wrong() -> None:
    _, problems = environment_layer(CONFIG_MANAGER.options, {"SIGNAL": "HUP", "ONESHOT": "yes"})

    assert [str(problem) for problem in problems] == [
        "environment ONESHOT: 'yes' is neither true nor false",
        "environment SIGNAL: 'HUP' is no whole number",
    ]
