from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.labels.building import MIB, config, gpu, mig_gpu, node, shares, t4
from gpu_core.config.model import Config
from gpu_core.config.words import ExtraLabels
from gpu_core.devices.model import Gpu
from gpu_core.labels import gpus
from gpu_core.labels.products import family

A100 = {
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
    "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.replicas": "1",
    "nvidia.com/gpu.sharing-strategy": "none",
    "nvidia.com/gpu.memory": "40960",
    "nvidia.com/gpu.family": "ampere",
    "nvidia.com/gpu.compute.major": "8",
    "nvidia.com/gpu.compute.minor": "0",
}
T4 = A100 | {
    "nvidia.com/gpu.product": "Tesla-T4",
    "nvidia.com/gpu.memory": "15360",
    "nvidia.com/gpu.family": "turing",
    "nvidia.com/gpu.compute.major": "7",
    "nvidia.com/gpu.compute.minor": "5",
}


def without(labels: dict[str, str], *names: str) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key.removeprefix("nvidia.com/gpu.") not in names}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param((), {}, id="a node without GPUs has no gpu labels"),
        pytest.param((gpu(),), A100, id="one GPU"),
        pytest.param((gpu(0), gpu(1)), A100 | {"nvidia.com/gpu.count": "2"}, id="two GPUs of one model"),
        pytest.param((gpu(memory=None),), without(A100, "memory"), id="a GPU without a memory figure"),
        pytest.param((gpu(memory=0),), without(A100, "memory"), id="a memory of nothing is no figure"),
        pytest.param(
            (gpu(compute_capability=None),),
            without(A100, "family", "compute.major", "compute.minor"),
            id="a GPU without a compute capability",
        ),
        pytest.param(
            (gpu(compute_capability=(0, 0)),),
            without(A100, "family", "compute.major", "compute.minor"),
            id="a compute capability of nothing is none",
        ),
        pytest.param(
            (mig_gpu(0, "1g.5gb"),), A100 | {"nvidia.com/gpu.replicas": "0"}, id="a partitioned GPU is not shared"
        ),
        pytest.param(
            (mig_gpu(0, "1g.5gb"), gpu(1)),
            A100 | {"nvidia.com/gpu.count": "2"},
            id="a whole GPU beside a partitioned one counts both",
        ),
        pytest.param((mig_gpu(0, "1g.5gb"), t4(1)), T4, id="a whole GPU stands before a partitioned one"),
        pytest.param((t4(0), gpu(1), t4(2)), T4 | {"nvidia.com/gpu.count": "2"}, id="the model with the most GPUs"),
        pytest.param((t4(0), gpu(1)), A100, id="of as many, the model with the most memory"),
        pytest.param(
            (gpu(0, "B", memory=MIB), gpu(1, "A", memory=MIB)),
            A100 | {"nvidia.com/gpu.product": "A", "nvidia.com/gpu.memory": "1"},
            id="of as much memory, the first by name",
        ),
        pytest.param(
            (gpu(0, memory=2 * MIB), gpu(1, memory=None), gpu(2, memory=MIB)),
            A100 | {"nvidia.com/gpu.count": "3", "nvidia.com/gpu.memory": "1"},
            id="the least known memory holds for every GPU of a model",
        ),
    ],
)
def test_gpu_labels(found: tuple[Gpu, ...], expected: dict[str, str]) -> None:
    assert gpus.node_set(node(*found)).values == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            config(time_slicing=shares("nvidia.com/gpu", 4)),
            ("NVIDIA-A100-SXM4-40GB-SHARED", "4", "time-slicing"),
            id="shares under the resource's own name",
        ),
        pytest.param(
            config(time_slicing=shares("nvidia.com/gpu", 4, by_default=True)),
            ("NVIDIA-A100-SXM4-40GB", "4", "time-slicing"),
            id="shares renamed by default",
        ),
        pytest.param(
            config(time_slicing=shares("nvidia.com/gpu", 4, rename="nvidia.com/slice")),
            ("NVIDIA-A100-SXM4-40GB-SHARED", "4", "time-slicing"),
            id="a rename that is ignored without custom resources",
        ),
        pytest.param(
            config(time_slicing=shares("nvidia.com/gpu", 4, rename="nvidia.com/slice"), custom_resources=True),
            ("NVIDIA-A100-SXM4-40GB", "4", "time-slicing"),
            id="a rename that custom resources honour",
        ),
        pytest.param(
            config(time_slicing=shares("nvidia.com/gpu", 1)),
            ("NVIDIA-A100-SXM4-40GB", "1", "none"),
            id="one replica shares nothing",
        ),
        pytest.param(
            config(mps=shares("nvidia.com/gpu", 1, by_default=True)),
            ("NVIDIA-A100-SXM4-40GB", "1", "none"),
            id="nor through MPS, nor renamed",
        ),
        pytest.param(
            config(time_slicing=shares("nvidia.com/mig-1g.5gb", 4)),
            ("NVIDIA-A100-SXM4-40GB", "1", "none"),
            id="shares of another resource",
        ),
        pytest.param(
            config(time_slicing=shares("nvidia.com/gpu", 4), mps=shares("nvidia.com/gpu", 2)),
            ("NVIDIA-A100-SXM4-40GB-SHARED", "2", "mps"),
            id="MPS before time slicing",
        ),
    ],
)
def test_sharing(settings: Config, expected: tuple[str, str, str]) -> None:
    values = gpus.node_set(node(gpu(), config=settings)).values
    assert tuple(values[f"nvidia.com/gpu.{name}"] for name in ("product", "replicas", "sharing-strategy")) == expected


def test_several_models_are_worth_a_warning() -> None:
    assert gpus.node_set(node(t4(0), gpu(1))).warnings == (
        (
            "This node has GPUs of several models (NVIDIA A100-SXM4-40GB, Tesla T4); the gpu labels describe "
            "NVIDIA A100-SXM4-40GB."
        ),
    )


MODEL_SETS = {
    "nvidia.com/model-NVIDIA-A100-SXM4-40GB.product": "NVIDIA-A100-SXM4-40GB",
    "nvidia.com/model-NVIDIA-A100-SXM4-40GB.count": "1",
    "nvidia.com/model-NVIDIA-A100-SXM4-40GB.memory": "40960",
    "nvidia.com/model-NVIDIA-A100-SXM4-40GB.family": "ampere",
    "nvidia.com/model-Tesla-T4.product": "Tesla-T4",
    "nvidia.com/model-Tesla-T4.count": "2",
    "nvidia.com/model-Tesla-T4.memory": "15360",
    "nvidia.com/model-Tesla-T4.family": "turing",
}
A100_SET = {key: value for key, value in MODEL_SETS.items() if "A100" in key}


@pytest.mark.parametrize(
    ("found", "extra", "expected"),
    [
        pytest.param((t4(0), gpu(1), t4(2)), ExtraLabels.AUTO, MODEL_SETS, id="several models of whole GPUs"),
        pytest.param((t4(0), gpu(1), t4(2)), ExtraLabels.NONE, {}, id="several models, but only the original's names"),
        pytest.param((gpu(),), ExtraLabels.AUTO, {}, id="one model needs no set of its own"),
        pytest.param((mig_gpu(0, "1g.5gb"), t4(1)), ExtraLabels.AUTO, {}, id="only one model has whole GPUs"),
        pytest.param((gpu(),), ExtraLabels.ALL, A100_SET, id="one model, and all labels asked for"),
        pytest.param((), ExtraLabels.ALL, {}, id="no GPUs"),
    ],
)
def test_model_sets(found: tuple[Gpu, ...], extra: ExtraLabels, expected: dict[str, str]) -> None:
    assert gpus.model_sets(node(*found, config=config(extra=extra))).values == expected


def test_a_model_set_has_keys_of_63_characters_at_most() -> None:
    long = gpu(0, "NVIDIA RTX Pro 6000 Blackwell Max-Q Workstation Edition")
    values = gpus.model_sets(node(long, t4(1))).values
    assert max(len(key.removeprefix("nvidia.com/")) for key in values) == 63


@pytest.mark.parametrize(
    ("found", "extra", "expected"),
    [
        pytest.param((gpu(0), mig_gpu(1), t4(2)), ExtraLabels.ALL, {"nvidia.com/gpu.whole-count": "2"}, id="asked for"),
        pytest.param((gpu(0), mig_gpu(1)), ExtraLabels.AUTO, {}, id="not asked for"),
        pytest.param((), ExtraLabels.ALL, {}, id="no GPUs"),
    ],
)
def test_count_of_whole_gpus(found: tuple[Gpu, ...], extra: ExtraLabels, expected: dict[str, str]) -> None:
    assert gpus.whole_count(node(*found, config=config(extra=extra))).values == expected


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((1, 3), "tesla"),
        ((2, 1), "fermi"),
        ((3, 7), "kepler"),
        ((4, 0), "undefined"),
        ((5, 2), "maxwell"),
        ((6, 1), "pascal"),
        ((7, 0), "volta"),
        ((7, 2), "volta"),
        ((7, 5), "turing"),
        ((8, 0), "ampere"),
        ((8, 7), "ampere"),
        ((8, 9), "ada-lovelace"),
        ((9, 0), "hopper"),
        ((10, 0), "blackwell"),
        ((11, 0), "undefined"),
        ((12, 1), "blackwell"),
        ((13, 0), "rubin"),
        ((14, 0), "undefined"),
    ],
)
def test_family(capability: tuple[int, int], expected: str) -> None:
    assert family(*capability) == expected


@given(st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_any_product_names_give_a_product_and_a_count(names: list[str]) -> None:
    found = [replace(gpu(index), name=name) for index, name in enumerate(names)]
    values = gpus.node_set(node(*found)).values
    assert len(values["nvidia.com/gpu.product"]) <= 63
    assert 1 <= int(values["nvidia.com/gpu.count"]) <= len(names)
