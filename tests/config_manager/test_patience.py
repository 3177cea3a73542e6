"""How long a program is looked for that has to be told of another config."""

from __future__ import annotations

from pathlib import Path

import pytest

from config_manager.choose import Rules
from config_manager.switch import GivenUp, NotYet, Switch, Task

PATIENCE = 30.0


@pytest.fixture
def switch(tmp_path: Path) -> Switch:
    for name in ("configs", "proc", "link"):
        (tmp_path / name).mkdir()
    for name in ("a", "b"):
        (tmp_path / "configs" / name).write_text(f"version: v1 # {name}\n")
    task = Task(
        rules=Rules(label="config"),
        directory=tmp_path / "configs",
        link=tmp_path / "link/config.yaml",
        programs=("nobody",),
        signal=1,
        checked=True,
        proc=tmp_path / "proc",
        patience=PATIENCE,
    )
    return Switch(task)


def test_another_look_at_the_same_config_gives_a_program_no_more_time(switch: Switch) -> None:
    switch.settle("a", 0.0)
    assert isinstance(switch.deliver(0.0), NotYet)
    switch.settle("a", PATIENCE - 1)
    assert isinstance(switch.deliver(PATIENCE), GivenUp)


def test_another_config_gives_it_all_the_time_again(switch: Switch) -> None:
    switch.settle("a", 0.0)
    assert isinstance(switch.deliver(0.0), NotYet)
    switch.settle("b", PATIENCE - 1)
    assert isinstance(switch.deliver(PATIENCE), NotYet)
    assert isinstance(switch.deliver(2 * PATIENCE - 1), GivenUp)
