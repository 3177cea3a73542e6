"""Names that labels cannot hold as they are: models that cleaning would merge, and what the log says of them."""

from __future__ import annotations

import re
import zlib
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.labels.building import FACTS, config, gpu, inventory, mig_gpu, node, shares
from gpu_core.config.words import ExtraLabels, MigStrategy
from gpu_core.labels import describe, gpus, mig
from gpu_core.labels.written import Written, alike, written

LEGAL = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9]")
LONG = "NVIDIA RTX Pro 6000 Blackwell Max-Q Workstation Edition Engineering Sample"


def crc(name: str) -> str:
    return f"{zlib.crc32(name.encode()):08x}"


def models(*names: str, extra: ExtraLabels = ExtraLabels.AUTO) -> dict[str, str]:
    """Return what labels say of whole GPUs with these names, without the prefix."""
    found = node(*(gpu(index, name) for index, name in enumerate(names)), config=config(extra=extra))
    values = {**gpus.node_set(found).values, **gpus.model_sets(found).values}
    kept = {key.removeprefix("nvidia.com/"): value for key, value in values.items()}
    return {key: value for key, value in kept.items() if key.endswith((".product", ".count"))}


def test_models_that_cleaning_would_merge_stay_apart() -> None:
    slashed, plain = f"GPU-AB-{crc('GPU A/B')}", f"GPU-AB-{crc('GPU AB')}"
    assert models("GPU A/B", "GPU A/B", "GPU A/B", "GPU AB") == {
        "gpu.product": slashed,
        "gpu.count": "3",
        f"model-{slashed}.product": slashed,
        f"model-{slashed}.count": "3",
        f"model-{plain}.product": plain,
        f"model-{plain}.count": "1",
    }


def test_models_of_which_cleaning_leaves_nothing_have_a_product() -> None:
    assert models("显卡", "显卡", "加速器") == {
        "gpu.product": crc("显卡"),
        "gpu.count": "2",
        f"model-{crc('显卡')}.product": crc("显卡"),
        f"model-{crc('显卡')}.count": "2",
        f"model-{crc('加速器')}.product": crc("加速器"),
        f"model-{crc('加速器')}.count": "1",
    }


def test_a_name_that_is_clean_has_no_checksum_where_no_other_becomes_equal() -> None:
    assert models("GPU AB", "GPU A/C", extra=ExtraLabels.ALL)["model-GPU-AB.product"] == "GPU-AB"


def test_long_names_that_differ_in_illegal_characters_stay_apart() -> None:
    trade, plain = f"{LONG} (TM)", f"{LONG} TM"
    assert {value for key, value in models(trade, plain).items() if key.startswith("model-") and "product" in key} == {
        f"NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Workstation-Editio-{crc(trade)}",
        f"NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Workstation-Editio-{crc(plain)}",
    }


def test_mig_profile_and_shared_stay_behind_the_checksum() -> None:
    found = node(
        mig_gpu(0, "1g.5gb", name="GPU A/B"),
        mig_gpu(1, "2g.10gb", name="GPU AB"),
        config=config(MigStrategy.MIXED, time_slicing=shares("nvidia.com/mig-1g.5gb", 2)),
    )
    values = mig.devices(found).values
    products = {key: value for key, value in values.items() if key.endswith(".product")}
    assert products == {
        "nvidia.com/mig-1g.5gb.product": f"GPU-AB-{crc('GPU A/B')}-MIG-1g.5gb-SHARED",
        "nvidia.com/mig-2g.10gb.product": f"GPU-AB-{crc('GPU AB')}-MIG-2g.10gb",
    }


def test_a_gpu_that_cannot_be_described_still_counts_as_another_model() -> None:
    whole, unread = gpu(0, "GPU AB"), gpu(1, "GPU A/B", compute_capability=None)
    assert node(whole, unread).alike_products == {"GPU AB", "GPU A/B"}


NAMES = st.lists(st.text(alphabet="ab/ -_.é", max_size=8) | st.text(max_size=90), min_size=1, max_size=5)


@given(NAMES)
@example(["GPU A/B", "GPU AB", f"GPU-AB-{zlib.crc32(b'GPU AB'):08x}"])
@example(["", "中"])
def test_every_model_of_a_node_has_a_legal_name_of_its_own(names: list[str]) -> None:
    values = models(*names, extra=ExtraLabels.ALL)
    products = {key: value for key, value in values.items() if key.startswith("model-") and key.endswith(".product")}
    assert len(products) == len(set(products.values())) == len(set(names))
    for key, product in products.items():
        assert len(product) <= 63
        assert LEGAL.fullmatch(product)
        assert LEGAL.fullmatch(key)
        assert len(key) <= 63
    counts = sorted(int(value) for key, value in values.items() if key.startswith("model-") and key.endswith(".count"))
    assert counts == sorted(Counter(names).values())


@given(NAMES)
def test_which_names_are_marked_does_not_depend_on_their_order(names: list[str]) -> None:
    assert alike(names) == alike(reversed(names)) == alike([*names, *names])


@pytest.mark.parametrize(
    ("name", "marked", "value", "note"),
    [
        pytest.param("Tesla T4", False, "Tesla-T4", "", id="blanks become dashes without a word"),
        pytest.param(
            "RTX A6000 (Ada)",
            False,
            "RTX-A6000-Ada",
            "Labels write the GPU model 'RTX A6000 (Ada)' as 'RTX-A6000-Ada', since they cannot hold it as it is.",
            id="characters that are dropped",
        ),
        pytest.param(
            "-T4-",
            False,
            "T4",
            "Labels write the GPU model '-T4-' as 'T4', since they cannot hold it as it is.",
            id="characters that cannot stand at an end",
        ),
        pytest.param(
            "GPU AB",
            True,
            f"GPU-AB-{crc('GPU AB')}",
            f"Labels write the GPU model 'GPU AB' as 'GPU-AB-{crc('GPU AB')}', since they cannot hold it as it is.",
            id="a checksum",
        ),
        pytest.param(
            LONG,
            False,
            "NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Workstation-Editio-f659dcdc",
            f"Labels write the GPU model '{LONG}' as 'NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Workstation-Editio-f659dcdc'"
            ", since they cannot hold it as it is.",
            id="a name that is cut",
        ),
        pytest.param(
            "x" * 4000,
            False,
            f"{'x' * 54}-{crc('x' * 4000)}",
            f"Labels write the GPU model '{'x' * 117}...' as '{'x' * 54}-{crc('x' * 4000)}', since they cannot hold it "
            "as it is.",
            id="a name without end, of which the log shows the beginning",
        ),
    ],
)
def test_what_becomes_of_a_name_is_noted_where_it_cannot_be_read_off(
    name: str, marked: bool, value: str, note: str
) -> None:
    assert written("GPU model", name, marked=marked) == Written(value=value, notes=(note,) if note else ())


def test_labels_of_one_model_note_its_name_once() -> None:
    settings = config(MigStrategy.MIXED, extra=ExtraLabels.ALL, time_slicing=shares("nvidia.com/gpu", 2))
    odd = "RTX A6000 (Ada)"
    found = inventory(gpu(0, odd), gpu(1, odd), mig_gpu(2, "1g.5gb", name=odd), gpu(3))
    assert describe(found, FACTS, settings).notes == (
        "Labels write the GPU model 'RTX A6000 (Ada)' as 'RTX-A6000-Ada', since they cannot hold it as it is.",
    )
