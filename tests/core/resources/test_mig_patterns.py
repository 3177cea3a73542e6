"""The patterns of MIG devices in the logged configuration."""

from __future__ import annotations

import pytest

from core.resources.asking import config_of
from core.resources.building import mig_gpu, node_of, whole_gpu
from gpu_core.devices.model import Inventory
from gpu_core.resources.mig import mig_patterns

NODE = node_of(whole_gpu(0), mig_gpu(1, "2g.10gb", "1g.5gb+me"), mig_gpu(2, "1c.2g.10gb"))


@pytest.mark.parametrize(
    ("mig", "node", "expected"),
    [
        pytest.param("none", NODE, (), id="none has no MIG resources"),
        pytest.param("single", NODE, (("*", "nvidia.com/gpu"),), id="single takes all for GPUs"),
        pytest.param(
            "mixed",
            NODE,
            (("1g.5gb+me", "nvidia.com/mig-1g.5gb.me"), ("2g.10gb", "nvidia.com/mig-2g.10gb")),
            id="mixed names each profile of a GPU instance once",
        ),
        pytest.param("mixed", None, (), id="a node that cannot be read has none yet"),
    ],
)
def test_patterns(mig: str, node: Inventory | None, expected: tuple[tuple[str, str], ...]) -> None:
    assert mig_patterns(node, config_of(mig=mig)) == expected
