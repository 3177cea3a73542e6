"""What is decided before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from device_plugin.plan import check_any_usable, health_rules
from gpu_core.config.duration import Duration
from gpu_core.config.health import Health
from gpu_core.config.model import Config
from gpu_core.config.words import DeviceListStrategy, RecoveryMode, only_cdi, uses_cdi
from gpu_core.devices.model import Fault, Gpu, Inventory, Platform, UnreadableGpu
from gpu_core.errors import HardwareError
from gpu_core.hardware.source import bound_functions, is_character_device
from gpu_core.health.book import HealthRules
from gpu_core.health.xids import IGNORED_BY_ORIGINAL, XidPolicy

LOST = Fault(call="DeviceGetUUID", code="GPU_IS_LOST")


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
        xids=XidPolicy(ignored=IGNORED_BY_ORIGINAL | {79}), recovery=RecoveryMode.PROBE, quiet=7.0, checks=True
    )
    assert len(warnings) == 1


def test_disabling_every_xid_turns_checks_off() -> None:
    rules, (warning,) = health_rules(Config(), disable="all", enable=None)
    assert (rules.checks, warning.startswith("Health checks are off")) == (False, True)
    rules, warnings = health_rules(Config(), disable="all", enable="79")
    assert (rules.checks, warnings) == (True, ())


@pytest.mark.parametrize(
    ("strategies", "uses", "only"),
    [
        ((DeviceListStrategy.ENVVAR,), False, False),
        ((DeviceListStrategy.ENVVAR, DeviceListStrategy.CDI_CRI), True, False),
        ((DeviceListStrategy.CDI_ANNOTATIONS, DeviceListStrategy.CDI_CRI), True, True),
    ],
)
def test_who_uses_cdi(strategies: tuple[DeviceListStrategy, ...], *, uses: bool, only: bool) -> None:
    assert (uses_cdi(strategies), only_cdi(strategies)) == (uses, only)


@pytest.mark.parametrize(("path", "is_one"), [("/dev/null", True), ("/dev", False), ("/nowhere", False)])
def test_what_a_character_device_is(path: str, *, is_one: bool) -> None:
    assert is_character_device(path) is is_one


def test_the_functions_that_the_kernels_driver_holds(tmp_path: Path) -> None:
    for name in ("0000:07:00.0", "bind", "module"):
        (tmp_path / name).touch()
    assert bound_functions(tmp_path) == {"0000:07:00.0"}
    assert bound_functions(tmp_path / "none") == frozenset()
