"""The names of MIG profiles, where the driver's numbers alone do not say them."""

from __future__ import annotations

import pytest

from gpu_core.devices.nvml.profiles import ProfileName, memory_gb, profile_name

MIB = 1 << 20


@pytest.mark.parametrize(
    ("slot", "driver_name", "compute", "total", "names"),
    [
        pytest.param(2, "", 3, 40960 * MIB, ("3g.20gb", "3g.20gb"), id="by number"),
        pytest.param(2, "", 1, 40960 * MIB, ("1c.3g.20gb", "3g.20gb"), id="a compute instance of three"),
        pytest.param(0x11, "", 3, 40960 * MIB, ("3g.20gb+gfx", "3g.20gb+gfx"), id="three slices with graphics"),
        pytest.param(99, "MIG 3g.20gb-me", 3, 40960 * MIB, ("3g.20gb-me", "3g.20gb-me"), id="a number from the future"),
        pytest.param(99, "", 3, 40960 * MIB, ("3g.20gb", "3g.20gb"), id="a number without a name"),
        pytest.param(None, "", 3, 40960 * MIB, ("3g.20gb", "3g.20gb"), id="no number"),
        pytest.param(2, "MIG 3g.19gb", 3, None, ("3g.19gb", "3g.19gb"), id="no memory of the whole GPU, but a name"),
        pytest.param(2, "", 3, None, ("3g.20gb", "3g.20gb"), id="neither"),
    ],
)
def test_a_device_of_three_slices_is_named(
    slot: int | None, driver_name: str, compute: int, total: int | None, names: tuple[str, str]
) -> None:
    named = profile_name(
        slot=slot,
        driver_name=driver_name,
        compute_slices=compute,
        gpu_slices=3,
        memory_mib=19968,
        total_memory=total,
    )
    assert named == ProfileName(device=names[0], instance=names[1])


@pytest.mark.parametrize(
    ("memory", "total", "size"),
    [(4864, 40960, 5), (9984, 81559, 10), (16896, 143771, 18), (5952, 24576, 6), (22000, 183359, 23), (18, 36, 1)],
)
def test_the_size_is_in_eighths_of_the_whole(memory: int, total: int, size: int) -> None:
    assert memory_gb(memory, total * MIB) == size
