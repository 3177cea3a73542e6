"""How many there are of something reads as a person says it."""

from __future__ import annotations

import pytest

from gpu_core.counted import all_of, counted


@pytest.mark.parametrize(
    ("count", "text"), [(-1, "-1 GPUs"), (0, "0 GPUs"), (1, "1 GPU"), (2, "2 GPUs"), (16, "16 GPUs")]
)
def test_only_one_is_in_the_singular(count: int, text: str) -> None:
    assert counted(count, "GPU") == text


@pytest.mark.parametrize(
    ("count", "text"), [(1, "The only GPU is"), (2, "Both GPUs are"), (3, "All 3 GPUs are"), (16, "All 16 GPUs are")]
)
def test_all_of_them_have_their_verb(count: int, text: str) -> None:
    assert all_of(count, "GPU") == text
