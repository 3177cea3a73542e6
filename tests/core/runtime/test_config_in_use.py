"""The configuration that a program obeys: what is told of it, counted, and kept when another cannot be used."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from gpu_core.config.load import Loaded, load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN, PluginSettings
from gpu_core.errors import UsageError
from gpu_core.runtime.config_in_use import ConfigInUse, ConfigState, config_name
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure
from gpu_core.runtime.metrics import CONFIG, Metric, MetricKind
from gpu_core.runtime.probes import Check

LOADS = Metric(name="loads", help="Loads.", labels=("result",))
REFUSING = Metric(name="refusing", help="Refusing.", kind=MetricKind.GAUGE)


class Place:
    """A config file behind a link, the program that obeys it, and what it has said."""

    def __init__(self, directory: Path) -> None:
        self.log = io.StringIO()
        configure(json=True, stream=self.log)
        self.directory = directory
        self.counters = Counters()
        self.problem = ""
        self.point("a", "version: v1\n")
        loaded = load(DEVICE_PLUGIN, [f"--config-file={directory / 'config.yaml'}"], {})
        self.config: ConfigInUse[PluginSettings] = ConfigInUse(
            loaded, counters=self.counters, loads=LOADS, refusing=REFUSING, problem=lambda: self.problem
        )

    def point(self, name: str, text: str) -> None:
        """Let the link lead to a file that holds a text."""
        (self.directory / name).write_text(text)
        link = self.directory / "config.yaml"
        link.unlink(missing_ok=True)
        link.symlink_to(name)

    def reload(self) -> Loaded[PluginSettings]:
        fresh = self.config.reload(["SIGHUP"])
        assert fresh is not None
        return fresh

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]

    def counted(self) -> dict[str, float]:
        return {
            " ".join([sample.metric.name, *(value for _, value in sample.labels)]): sample.value
            for sample in self.counters.snapshot()
            if sample.metric is not CONFIG
        }

    def named(self) -> list[str]:
        return [sample.labels[0][1] for sample in self.counters.snapshot() if sample.metric is CONFIG]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_config_is_known_by_the_file_behind_its_links(place: Place) -> None:
    assert (place.config.state().name, place.named()) == ("a", ["a"])
    place.point("b", "version: v1\n")
    place.config.accept(place.reload())
    assert (place.config.state().name, place.named()) == ("b", ["b"])
    assert [config_name(""), config_name(str(place.directory / "config.yaml"))] == ["", "b"]


def test_what_is_accepted_is_obeyed_and_counted(place: Place) -> None:
    place.point("b", "version: v1\nflags: {migStrategy: mixed}\n")
    fresh = place.reload()
    assert place.config.loaded is not fresh
    place.config.accept(fresh)
    assert place.config.loaded is fresh
    place.config.accept(place.reload(), result="unchanged")
    assert place.counted() == {"loads applied": 1.0, "loads unchanged": 1.0, "refusing": 0.0}


def test_a_file_that_cannot_be_loaded_leaves_the_config_before(place: Place) -> None:
    before = place.config.loaded
    place.point("b", "flags: [broken\n")
    assert place.config.reload(["the config file has changed"]) is None
    assert (place.config.loaded, place.named()) == (before, ["a"])
    (line,) = place.logged("The new configuration is not used; the one before stays")
    assert "b" not in place.config.state().name
    assert place.config.state().refused == line["reason"]
    assert place.counted() == {"loads refused": 1.0, "refusing": 1.0}


def test_a_config_that_cannot_be_served_is_refused_until_another_can_be(place: Place) -> None:
    place.config.refuse(UsageError("It does not fit."))
    assert place.config.state().check() == Check(
        name="config",
        ok=True,
        reason="a as it was is in use; what it says now is refused: It does not fit.",
        concern=True,
    )
    place.config.accept(place.reload())
    assert place.config.state().check() == Check(name="config", ok=True, reason="a is in use")


def test_a_file_that_cannot_be_read_is_told_to_who_asks(place: Place) -> None:
    place.problem = "the config file is gone"
    assert place.config.state().check() == Check(name="config", ok=True, reason="the config file is gone", concern=True)


def test_warnings_are_said_once(place: Place) -> None:
    place.config.warn(["Look here.", "Look there."])
    place.config.warn(["Look here."])
    assert (len(place.logged("Look here.")), len(place.logged("Look there."))) == (1, 1)


def test_without_a_file_there_is_no_name() -> None:
    config = ConfigInUse(load(DEVICE_PLUGIN, [], {}), counters=Counters(), loads=LOADS)
    state = config.state()
    assert (state, state.check().reason) == (
        ConfigState(config=config.loaded.config, name="", digest=config.loaded.config_text_digest),
        "no config file is in use",
    )
