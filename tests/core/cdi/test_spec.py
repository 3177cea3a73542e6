"""Specifications of GPUs, MIG devices, IMEX channels and the rest, as runtimes apply them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import cdi_runtime
from gpu_core.cdi.driver_files import CharDevice, DeviceLink, DriverFiles, File
from gpu_core.cdi.hooks import Hooks
from gpu_core.cdi.model import Spec, document, required_version
from gpu_core.cdi.names import CdiClass, file_name, qualified_name
from gpu_core.cdi.simulated import simulated_driver
from gpu_core.cdi.spec import SpecOptions, extra_spec, gpu_spec, imex_spec
from gpu_core.config.words import DeviceIDStrategy
from gpu_core.devices.device_nodes import ImexChannel
from gpu_core.devices.model import Gpu, Inventory, MigAttributes, MigDevice, PciFacts, Platform

OPTIONS = SpecOptions(hooks=Hooks(tool="/usr/bin/nvidia-ctk"))


def mig(index: int, profile: str = "1g.5gb", minors: tuple[int, int] | None = (30, 31)) -> MigDevice:
    attributes = MigAttributes(memory_mib=4864, multiprocessors=14, gpu_instance_slices=1, compute_instance_slices=1)
    return MigDevice(
        index=index,
        uuid=f"MIG-{index}",
        parent_uuid="GPU-1",
        parent_index=1,
        gpu_instance=7 + index,
        compute_instance=0,
        profile=profile,
        instance_profile=profile,
        attributes=attributes,
        capability_minors=minors,
    )


PLAIN = Gpu(index=0, uuid="GPU-0", name="A", minor=0, pci=PciFacts(address="0000:07:00.0"), coherent_memory=True)
SPLIT = Gpu(index=1, uuid="GPU-1", name="A", minor=1, mig_capable=True, mig_enabled=True, mig_devices=(mig(0), mig(1)))
NODE = Inventory(platform=Platform.NVML, gpus=(PLAIN, SPLIT), driver_version="550.90.07")


def made(spec: Spec | None) -> dict[str, Any]:
    assert spec is not None
    text = document(spec, required_version(spec))
    cdi_runtime.check(text)
    return text


def names(spec: Spec | None) -> list[str]:
    return [device["name"] for device in made(spec)["devices"]]


def test_a_container_sees_its_gpu_and_nothing_of_the_others() -> None:
    spec = made(gpu_spec(NODE, simulated_driver(NODE), OPTIONS))
    oci = cdi_runtime.inject(spec, ["GPU-0"])
    assert [device["path"] for device in oci["linux"]["devices"]] == [
        "/dev/nvidia-modeset",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidiactl",
        "/dev/nvidia0",
    ]
    assert oci["process"]["env"] == [
        "PATH=/usr/bin",
        "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu",
        "NVIDIA_VISIBLE_DEVICES=void",
    ]
    assert [hook["args"][2] for hook in oci["hooks"]["createContainer"]] == [
        "create-symlinks",
        "enable-cuda-compat",
        "update-ldcache",
        "disable-device-node-modification",
        "update-application-profile",
    ]
    assert "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07" in [mount["destination"] for mount in oci["mounts"]]


def test_a_mig_device_brings_its_parent_and_its_capabilities() -> None:
    oci = cdi_runtime.inject(made(gpu_spec(NODE, simulated_driver(NODE), OPTIONS)), ["MIG-0"])
    assert [device["path"] for device in oci["linux"]["devices"]][4:] == [
        "/dev/nvidia1",
        "/dev/nvidia-caps/nvidia-cap30",
        "/dev/nvidia-caps/nvidia-cap31",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(OPTIONS, ["GPU-0", "MIG-0", "MIG-1"], id="by UUID"),
        pytest.param(replace(OPTIONS, id_strategy=DeviceIDStrategy.INDEX), ["0", "1:0", "1:1"], id="by index"),
        pytest.param(
            replace(OPTIONS, mig_parents=True), ["GPU-0", "GPU-1", "MIG-0", "MIG-1"], id="MIG GPUs that are whole"
        ),
        pytest.param(
            replace(OPTIONS, extra_names=True),
            ["0", "1:0", "1:1", "GPU-0", "MIG-0", "MIG-1", "all"],
            id="every name, and all of them",
        ),
    ],
)
def test_names(options: SpecOptions, expected: list[str]) -> None:
    assert names(gpu_spec(NODE, simulated_driver(NODE), options)) == expected


def test_devices_that_cannot_be_reached_are_left_out() -> None:
    broken = replace(NODE, gpus=(replace(PLAIN, minor=None), replace(SPLIT, mig_devices=(mig(0, minors=None), mig(1)))))
    assert names(gpu_spec(broken, simulated_driver(NODE), OPTIONS)) == ["MIG-1"]


@pytest.mark.parametrize(
    "gpus",
    [pytest.param((), id="no GPU"), pytest.param((replace(SPLIT, mig_devices=()),), id="an empty MIG GPU")],
)
def test_nothing_to_name_makes_no_specification(gpus: tuple[Gpu, ...]) -> None:
    assert gpu_spec(replace(NODE, gpus=gpus), simulated_driver(NODE), OPTIONS) is None


def test_coherent_memory_is_annotated_on_request() -> None:
    options = replace(OPTIONS, features=frozenset({"enable-coherent-annotations"}))
    spec = made(gpu_spec(NODE, simulated_driver(NODE), options))
    assert spec["cdiVersion"] == "0.6.0"
    assert spec["devices"][0]["annotations"] == {"gpu.nvidia.com/coherent": "true"}


def drawing(gpu: Gpu) -> DriverFiles:
    """Return the driver of a node whose GPU draws."""
    files = simulated_driver(replace(NODE, gpus=(gpu,)))
    card = CharDevice(seen="/d/dev/dri/card1", path="/dev/dri/card1", major=226, minor=1, mode=0o660, gid=44)
    return replace(
        files,
        devices=(*files.devices, card),
        drm_nodes=(("0000:07:00.0", ("card1", "renderD128")), ("0000:08:00.0", ("card2",))),
        device_links=(
            DeviceLink(seen="/d/dev/dri/by-path/pci-0000:07:00.0-card", target="../card1"),
            DeviceLink(seen="/d/dev/dri/by-path/pci-0000:07:00.0-render", target="../renderD128"),
            DeviceLink(seen="/d/dev/dri/by-path/pci-0000:08:00.0-card", target="../card2"),
        ),
        graphics_libraries=tuple(
            File(seen=f"/d/usr/lib/{name}", path=f"/usr/lib/{name}")
            for name in (
                "libnvidia-allocator.so.550.90.07",
                "libnvidia-vulkan-producer.so.550.90.07",
                "libnvidia-egl-gbm.so.1.1.1",
            )
        ),
    )


def test_a_gpu_that_draws_brings_its_drm_nodes_and_their_links() -> None:
    spec = made(gpu_spec(replace(NODE, gpus=(PLAIN,)), drawing(PLAIN), OPTIONS))
    edits = spec["devices"][0]["containerEdits"]
    assert [node["path"] for node in edits["deviceNodes"]] == ["/dev/nvidia0", "/dev/dri/card1"]
    assert edits["hooks"][0]["args"][3:] == ["--link", "../card1::/d/dev/dri/by-path/pci-0000:07:00.0-card"]
    assert edits["additionalGids"] == [44]
    common = spec["containerEdits"]
    assert common["hooks"][0]["args"][3:] == [
        "--link",
        "../libnvidia-allocator.so.1::/usr/lib/gbm/nvidia-drm_gbm.so",
        "--link",
        "libnvidia-vulkan-producer.so.550.90.07::/usr/lib/libnvidia-vulkan-producer.so",
    ]
    mounted = [mount["containerPath"] for mount in common["mounts"]]
    assert "/usr/lib/libnvidia-egl-gbm.so.1.1.1" in mounted
    # The allocator is one of the versioned libraries already.
    assert "/usr/lib/libnvidia-allocator.so.550.90.07" not in mounted


def test_groups_can_be_left_to_the_container() -> None:
    options = replace(OPTIONS, features=frozenset({"no-additional-gids-for-device-nodes"}))
    spec = made(gpu_spec(replace(NODE, gpus=(PLAIN,)), drawing(PLAIN), options))
    assert "additionalGids" not in spec["devices"][0]["containerEdits"]


@pytest.mark.parametrize(("profile", "draws"), [("1g.24gb+gfx", True), ("1g.24gb+me", False), ("1g.24gb", False)])
def test_only_mig_devices_with_graphics_draw(profile: str, draws: bool) -> None:
    gpu = replace(SPLIT, mig_devices=(mig(0, profile),), pci=PciFacts(address="0000:07:00.0"))
    spec = made(gpu_spec(replace(NODE, gpus=(gpu,)), drawing(gpu), OPTIONS))
    paths = [node["path"] for node in spec["devices"][0]["containerEdits"]["deviceNodes"]]
    assert ("/dev/dri/card1" in paths) is draws


def test_imex_channels() -> None:
    spec = imex_spec([ImexChannel(number=0, path="/dev/nvidia-caps-imex-channels/channel0", seen="/h/channel0")])
    assert made(spec) == {
        "cdiVersion": "0.5.0",
        "kind": "k8s.device-plugin.nvidia.com/imex-channel",
        "devices": [
            {
                "name": "0",
                "containerEdits": {
                    "deviceNodes": [{"path": "/dev/nvidia-caps-imex-channels/channel0", "hostPath": "/h/channel0"}]
                },
            }
        ],
        "containerEdits": {},
    }
    assert imex_spec([]) is None


def extra(path: str) -> DriverFiles:
    device = CharDevice(seen=path, path=path, major=240, minor=0)
    udev = File(seen="/run/udev", path="/run/udev")
    return DriverFiles(root="/", dev_root="/", version="", devices=(device,), storage_files=(udev,))


@pytest.mark.parametrize(
    ("cdi_class", "path", "mounts"),
    [
        (CdiClass.GDRCOPY, "/dev/gdrdrv", 0),
        (CdiClass.GDS, "/dev/nvidia-fs0", 1),
        (CdiClass.MOFED, "/dev/infiniband/uverbs0", 0),
        (CdiClass.MOFED, "/dev/infiniband/rdma_cm", 0),
    ],
)
def test_extras_are_one_device_called_all(cdi_class: CdiClass, path: str, mounts: int) -> None:
    spec = made(extra_spec(cdi_class, extra(path), OPTIONS))
    oci = cdi_runtime.inject(spec, ["all"])
    assert [device["path"] for device in oci["linux"]["devices"]] == [path]
    assert len(oci["mounts"]) == mounts
    assert extra_spec(cdi_class, extra("/dev/nvidia0"), OPTIONS) is None


def test_qualified_names_and_file_names() -> None:
    assert qualified_name(CdiClass.GDS, "all") == "k8s.device-plugin.nvidia.com/gds=all"
    assert file_name(CdiClass.IMEX_CHANNEL) == "k8s.device-plugin.nvidia.com-imex-channel.json"


@given(st.permutations([PLAIN, SPLIT, replace(PLAIN, index=2, uuid="GPU-2", minor=2)]))
def test_the_order_of_enumeration_does_not_matter(gpus: list[Gpu]) -> None:
    ordered = tuple(sorted(gpus, key=lambda gpu: gpu.index))
    files = simulated_driver(replace(NODE, gpus=ordered))
    shuffled = gpu_spec(replace(NODE, gpus=tuple(gpus)), files, OPTIONS)
    assert shuffled == gpu_spec(replace(NODE, gpus=ordered), files, OPTIONS)
