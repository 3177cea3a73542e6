from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.every_program import EveryProgram, every_program


@pytest.fixture
def programs(socket_dir: Path) -> Iterator[EveryProgram]:
    with every_program(socket_dir) as made:
        yield made
