"""What each strategy gives a container, and which requests are refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from device_plugin.allocation.allocate import ContainerResponse, DeviceSpec, ResponseMount, Rules, allocate, rules_for
from gpu_core.cdi.names import CdiClass
from gpu_core.config.model import Config, Flags, PluginFlags
from gpu_core.config.words import DeviceIDStrategy, DeviceListStrategy, SharingStrategy
from gpu_core.devices.device_nodes import CONTROL_NODES
from gpu_core.errors import AllocationError
from gpu_core.resources.model import Device, Resource

ENVVAR, VOLUMES = DeviceListStrategy.ENVVAR, DeviceListStrategy.VOLUME_MOUNTS
ANNOTATIONS, CRI = DeviceListStrategy.CDI_ANNOTATIONS, DeviceListStrategy.CDI_CRI
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
VOLUME_ROOT = "/var/run/nvidia-container-devices"
WHOLE = Resource(
    name="nvidia.com/gpu",
    devices=(
        Device(id="GPU-a", uuid="GPU-a", index="0", paths=("/dev/nvidia0",)),
        Device(id="GPU-b", uuid="GPU-b", index="1", paths=("/dev/nvidia1",)),
    ),
)
MPS_PIPE = "CUDA_MPS_PIPE_DIRECTORY"
PIPE = "/mps/nvidia.com/gpu/pipe"
MPS_MOUNTS = (
    ResponseMount(container_path=PIPE, host_path="/run/mps/nvidia.com/gpu/pipe"),
    ResponseMount(container_path="/dev/shm", host_path="/run/mps/shm"),
)


def shares(number: int, **facts: Any) -> Resource:
    """Return a resource of shared devices with a whole one beside them."""
    parts = tuple(
        replace(WHOLE.devices[0], id=f"GPU-a::{replica}", replica=replica, replicas=number) for replica in range(number)
    )
    return replace(WHOLE, devices=(*parts, WHOLE.devices[1]), **facts)


def node(path: str, root: str = "") -> DeviceSpec:
    return DeviceSpec(container_path=path, host_path=f"{root}{path}")


@pytest.mark.parametrize(
    ("rules", "ids", "response"),
    [
        pytest.param(
            Rules(),
            ["GPU-b", "GPU-a"],
            ContainerResponse(envs={VISIBLE: "GPU-b,GPU-a"}),
            id="in the order asked for",
        ),
        pytest.param(Rules(), [], ContainerResponse(envs={VISIBLE: ""}), id="nothing asked for"),
        pytest.param(
            Rules(), ["GPU-a", "GPU-a"], ContainerResponse(envs={VISIBLE: "GPU-a"}), id="the same asked for twice"
        ),
        pytest.param(
            Rules(id_strategy=DeviceIDStrategy.INDEX, imex_channels=(0,)),
            ["GPU-a", "GPU-b"],
            ContainerResponse(envs={VISIBLE: "0,1", "NVIDIA_IMEX_CHANNELS": "0"}),
            id="indices and an IMEX channel",
        ),
        pytest.param(
            Rules(strategies=(ENVVAR, VOLUMES), imex_channels=(0,)),
            ["GPU-a"],
            ContainerResponse(
                envs={VISIBLE: VOLUME_ROOT, "NVIDIA_IMEX_CHANNELS": "0"},
                mounts=(
                    ResponseMount(container_path=f"{VOLUME_ROOT}/GPU-a", host_path="/dev/null"),
                    ResponseMount(container_path=f"{VOLUME_ROOT}/imex/0", host_path="/dev/null"),
                ),
            ),
            id="volume mounts win over the variable",
        ),
        pytest.param(
            Rules(
                strategies=(CRI, ANNOTATIONS),
                imex_channels=(0,),
                extras=(CdiClass.GDRCOPY, CdiClass.GDS),
                cdi_extras=(CdiClass.GDS,),
            ),
            ["GPU-a"],
            ContainerResponse(
                envs={"NVIDIA_GDRCOPY": "enabled", "NVIDIA_GDS": "enabled"},
                annotations={
                    "cdi.k8s.io/nvidia-device-plugin_7": "k8s.device-plugin.nvidia.com/gpu=GPU-a,"
                    "k8s.device-plugin.nvidia.com/imex-channel=0,k8s.device-plugin.nvidia.com/gds=all"
                },
                cdi_devices=(
                    "k8s.device-plugin.nvidia.com/gpu=GPU-a",
                    "k8s.device-plugin.nvidia.com/imex-channel=0",
                    "k8s.device-plugin.nvidia.com/gds=all",
                ),
            ),
            id="CDI alone, with extras that have a specification",
        ),
        pytest.param(Rules(strategies=(ANNOTATIONS,)), [], ContainerResponse(), id="no annotation about nothing"),
        pytest.param(
            Rules(strategies=(CRI,), pass_device_specs=True, control_nodes=CONTROL_NODES),
            ["GPU-a"],
            ContainerResponse(cdi_devices=("k8s.device-plugin.nvidia.com/gpu=GPU-a",)),
            id="CDI alone passes no device nodes",
        ),
        pytest.param(
            Rules(
                pass_device_specs=True, dev_root="/run/driver/", control_nodes=("/dev/nvidiactl",), imex_channels=(0,)
            ),
            ["GPU-b"],
            ContainerResponse(
                envs={VISIBLE: "GPU-b", "NVIDIA_IMEX_CHANNELS": "0"},
                devices=(
                    node("/dev/nvidiactl", "/run/driver"),
                    node("/dev/nvidia1", "/run/driver"),
                    node("/dev/nvidia-caps-imex-channels/channel0", "/run/driver"),
                ),
            ),
            id="device nodes below the dev root",
        ),
    ],
)
def test_what_a_container_is_given(rules: Rules, ids: list[str], response: ContainerResponse) -> None:
    assert allocate(WHOLE, ids, rules, "7") == response


@pytest.mark.parametrize(
    ("ids", "envs", "mounts"),
    [
        pytest.param(["GPU-a::1"], {VISIBLE: "GPU-a", MPS_PIPE: PIPE}, MPS_MOUNTS, id="a share"),
        pytest.param([], {VISIBLE: "", MPS_PIPE: PIPE}, MPS_MOUNTS, id="nothing"),
        pytest.param(["GPU-b"], {VISIBLE: "GPU-b"}, (), id="a whole GPU beside the shares"),
    ],
)
def test_mps_reaches_those_who_share(ids: list[str], envs: dict[str, str], mounts: tuple[ResponseMount, ...]) -> None:
    resource = shares(2, sharing=SharingStrategy.MPS)
    assert allocate(resource, ids, Rules(mps_root="/run/mps/"), "7") == ContainerResponse(envs=envs, mounts=mounts)


def test_mps_mounts_come_before_others() -> None:
    response = allocate(
        shares(2, sharing=SharingStrategy.MPS), ["GPU-a::0"], Rules(strategies=(VOLUMES,), mps_root="/run/mps"), "7"
    )
    assert response.mounts == (*MPS_MOUNTS, ResponseMount(container_path=f"{VOLUME_ROOT}/GPU-a", host_path="/dev/null"))


def test_shares_of_one_gpu_name_it_and_its_nodes_once() -> None:
    response = allocate(shares(3), ["GPU-a::2", "GPU-a::0"], Rules(pass_device_specs=True), "7")
    assert response == ContainerResponse(envs={VISIBLE: "GPU-a"}, devices=(node("/dev/nvidia0"),))


@pytest.mark.parametrize(
    ("resource", "ids", "said"),
    [
        pytest.param(WHOLE, ["GPU-a", "GPU-x"], "nvidia.com/gpu has no device 'GPU-x'", id="an unknown device"),
        pytest.param(WHOLE, [""], "nvidia.com/gpu has no device ''", id="an empty id"),
        pytest.param(WHOLE, ["GPU-a::0"], "no device 'GPU-a::0'", id="a share of what is not shared"),
        pytest.param(
            shares(2, fail_requests_greater_than_one=True),
            ["GPU-a::0", "GPU-a::1"],
            "allows a container one share, not 2 (GPU-a::0, GPU-a::1)",
            id="two shares where one is allowed",
        ),
        pytest.param(
            shares(2, fail_requests_greater_than_one=True),
            ["GPU-a::0", "GPU-a::0"],
            "one share, not 2",
            id="one share twice",
        ),
    ],
)
def test_requests_that_are_refused(resource: Resource, ids: list[str], said: str) -> None:
    with pytest.raises(AllocationError) as raised:
        allocate(resource, ids, Rules(), "7")
    assert said in str(raised.value)


@pytest.mark.parametrize("ids", [["GPU-a::0"], ["GPU-b"]])
def test_one_device_is_never_too_many(ids: list[str]) -> None:
    allocate(shares(2, fail_requests_greater_than_one=True), ids, Rules(), "7")


def test_the_rules_of_a_config() -> None:
    config = Config(
        flags=Flags(
            mps_root="/m",
            nvidia_driver_root="/d",
            gdrcopy_enabled=True,
            mofed_enabled=True,
            plugin=PluginFlags(
                pass_device_specs=True,
                device_list_strategy=(CRI,),
                device_id_strategy=DeviceIDStrategy.INDEX,
                cdi_annotation_prefix="x/",
            ),
        )
    )
    rules = rules_for(config, control_nodes=["/dev/nvidiactl"], imex_channels=[0], cdi_classes=[CdiClass.MOFED])
    assert rules == Rules(
        strategies=(CRI,),
        id_strategy=DeviceIDStrategy.INDEX,
        pass_device_specs=True,
        dev_root="/d",
        annotation_prefix="x/",
        mps_root="/m",
        control_nodes=("/dev/nvidiactl",),
        imex_channels=(0,),
        extras=(CdiClass.GDRCOPY, CdiClass.MOFED),
        cdi_extras=(CdiClass.MOFED,),
    )


def test_every_strategy_tells_a_container_its_devices_in_its_own_way() -> None:
    answers = {each: allocate(WHOLE, ["GPU-a"], Rules(strategies=(each,)), "id") for each in DeviceListStrategy}
    alike = [(a, b) for a, b in itertools.combinations(answers, 2) if answers[a] == answers[b]]
    assert (alike, [each for each, answer in answers.items() if answer == ContainerResponse()]) == ([], [])
