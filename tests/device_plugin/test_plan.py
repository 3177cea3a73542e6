"""What is decided before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from device_plugin.device_nodes import bound_functions, control_nodes, imex_channels, is_character_device
from device_plugin.plan import asks_for_cdi, check_any_usable, health_rules
from gpu_core.cdi.spec import ImexChannel
from gpu_core.config.duration import Duration
from gpu_core.config.model import Config, Flags, Health, Imex, PluginFlags
from gpu_core.config.words import DeviceListStrategy, RecoveryMode
from gpu_core.devices.model import Fault, Gpu, Inventory, Platform, UnreadableGpu
from gpu_core.errors import HardwareError, ResourceError
from gpu_core.resources.health import HealthRules
from gpu_core.resources.xids import IGNORED_BY_DEFAULT, XidPolicy

LOST = Fault(call="DeviceGetUUID", code="GPU_IS_LOST")
CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"


def node(*gpus: Gpu, unreadable: tuple[UnreadableGpu, ...] = ()) -> Inventory:
    return Inventory(platform=Platform.NVML, gpus=gpus, unreadable=unreadable)


def gpu(index: int, *faults: Fault) -> Gpu:
    return Gpu(index=index, uuid=f"GPU-{index}", name="T", faults=faults)


@pytest.mark.parametrize(
    "inventory",
    [
        pytest.param(node(), id="no GPU at all"),
        pytest.param(node(gpu(0), gpu(1, LOST)), id="one of two"),
        pytest.param(node(gpu(0), unreadable=(UnreadableGpu(index=1, fault=LOST),)), id="one beside a nameless one"),
    ],
)
def test_a_node_with_a_usable_gpu_or_none_at_all_is_served(inventory: Inventory) -> None:
    check_any_usable(inventory)


@pytest.mark.parametrize(
    "inventory",
    [
        pytest.param(node(gpu(0, LOST), gpu(1, LOST)), id="all unreadable"),
        pytest.param(node(unreadable=(UnreadableGpu(index=0, fault=LOST),)), id="all nameless"),
    ],
)
def test_a_node_whose_gpus_all_fail_is_not(inventory: Inventory) -> None:
    with pytest.raises(HardwareError, match=r"can be read: nvmlDeviceGetUUID failed with GPU_IS_LOST\. Check them"):
        check_any_usable(inventory)


def test_health_rules_of_a_config_and_the_environment() -> None:
    health = Health(recovery=RecoveryMode.PROBE, recovery_quiet_time=Duration.of(seconds=7))
    rules, warnings = health_rules(Config(health=health), disable="79,x", enable=None)
    assert rules == HealthRules(
        xids=XidPolicy(ignored=IGNORED_BY_DEFAULT | {79}), recovery=RecoveryMode.PROBE, quiet=7.0, checks=True
    )
    assert len(warnings) == 1


def test_disabling_every_xid_turns_checks_off() -> None:
    rules, (warning,) = health_rules(Config(), disable="all", enable=None)
    assert (rules.checks, warning.startswith("Health checks are off")) == (False, True)
    rules, warnings = health_rules(Config(), disable="all", enable="79")
    assert (rules.checks, warnings) == (True, ())


@pytest.mark.parametrize(
    ("strategies", "asked"),
    [
        ((DeviceListStrategy.ENVVAR,), False),
        ((DeviceListStrategy.ENVVAR, DeviceListStrategy.CDI_CRI), True),
    ],
)
def test_who_asks_for_cdi(strategies: tuple[DeviceListStrategy, ...], *, asked: bool) -> None:
    assert asks_for_cdi(Config(flags=Flags(plugin=PluginFlags(device_list_strategy=strategies)))) is asked


def test_control_nodes_are_those_that_exist_on_nvml_platforms() -> None:
    there = {"/dev/nvidiactl", "/dev/nvidia-modeset"}.__contains__
    assert control_nodes(Platform.NVML, there) == ("/dev/nvidiactl", "/dev/nvidia-modeset")
    assert control_nodes(Platform.WSL, there) == ()


@pytest.mark.parametrize(
    ("there", "seen"),
    [
        pytest.param({f"/driver{CHANNEL}", CHANNEL}, f"/driver{CHANNEL}", id="below the dev root"),
        pytest.param({CHANNEL}, CHANNEL, id="in our own /dev"),
    ],
)
def test_where_an_imex_channel_is_found(there: set[str], seen: str) -> None:
    found = imex_channels(Imex(channel_ids=(0,)), "/driver", there.__contains__)
    assert found == ((ImexChannel(number=0, path=CHANNEL, seen=seen),), ())


def test_a_missing_channel_is_warned_of() -> None:
    found, (warning,) = imex_channels(Imex(channel_ids=(0,)), "/", lambda _: False)
    assert found == ()
    assert warning == f"IMEX channel 0 has no device node: looked for {CHANNEL}. Containers start without it."


def test_a_missing_channel_that_is_required_ends_the_program() -> None:
    with pytest.raises(ResourceError, match=r"looked for /r/dev/.* and /dev/.*\. Start the IMEX service"):
        imex_channels(Imex(channel_ids=(0,), required=True), "/r/", lambda _: False)


@pytest.mark.parametrize(("path", "is_one"), [("/dev/null", True), ("/dev", False), ("/nowhere", False)])
def test_what_a_character_device_is(path: str, *, is_one: bool) -> None:
    assert is_character_device(path) is is_one


def test_the_functions_that_the_kernels_driver_holds(tmp_path: Path) -> None:
    for name in ("0000:07:00.0", "bind", "module"):
        (tmp_path / name).touch()
    assert bound_functions(tmp_path) == {"0000:07:00.0"}
    assert bound_functions(tmp_path / "none") == frozenset()
