"""What a node advertises or why it is refused, as plain values."""

from __future__ import annotations

from typing import Any

import pytest

from core.resources.asking import config_of
from core.resources.building import mig_gpu, node_of, whole_gpu
from gpu_core.devices.model import Inventory
from gpu_core.errors import ResourceError
from gpu_core.resources.device_map import build_resources

THREE = node_of(*(whole_gpu(index, name=name) for index, name in enumerate(["Tesla T4", "NVIDIA A100", "Tesla T4"])))
PARTED = node_of(mig_gpu(0, "1g.5gb", "1g.5gb", "2g.10gb"), whole_gpu(1))


def advertised(node: Inventory, **asked: Any) -> dict[str, list[str]]:
    resources, _ = build_resources(node, config_of(**asked))
    return {resource.name: [device.id for device in resource.devices] for resource in resources}


def refused(node: Inventory, **asked: Any) -> str:
    with pytest.raises(ResourceError) as caught:
        build_resources(node, config_of(**asked))
    return str(caught.value)
