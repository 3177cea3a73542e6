"""What stays in use while something is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakes.managed_node import FILES, Node

MakeNode = Callable[..., Node]


def test_a_missing_file_is_waited_for_and_applied_when_it_appears(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.label("late")
    node.server.wait_for(lambda: "There is no config 'late'" in node.log)
    assert (node.target(), node.content()) == ("a", FILES["a"])
    node.volume.update({**FILES, "late": "version: v1 # late\n"})
    node.wait_told("version: v1 # late\n", 2)
    node.stop()
    counted = {sample.metric.name: sample.value for sample in node.counters.snapshot()}
    assert counted == {
        "config_manager_config_as_asked": 1.0,
        "config_manager_configs_applied_total": 2.0,
        "config_manager_configs_refused_total": 1.0,
        "config_manager_signals_total": 2.0,
        "gpu_suite_config_info": 1.0,
    }


def test_while_the_label_is_wrong_the_config_in_use_still_follows_its_file(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.label("nowhere")
    node.volume.update({**FILES, "a": "version: v1 # newer\n"})
    node.wait_told("version: v1 # newer\n", 2)
    node.stop()


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        pytest.param("flags: {migStrategy: both}\n", "both", id="a word that does not exist"),
        pytest.param("flags: [\n", "has errors", id="no YAML"),
    ],
)
def test_a_file_with_errors_is_refused_with_its_errors(make_node: MakeNode, broken: str, reason: str) -> None:
    node = make_node({**FILES, "broken": broken})
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.label("broken")
    node.server.wait_for(lambda: reason in node.log)
    node.label("b")
    node.wait_told(FILES["b"], 2)
    node.stop()


def test_a_check_may_be_skipped(make_node: MakeNode) -> None:
    node = make_node({"other": "flags: {migStrategy: both}\n"}, skip_config_check=True)
    node.label("other")
    node.start()
    node.wait_for("other", "flags: {migStrategy: both}\n")
    node.stop()


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"a": "flags: [\n", "b": FILES["b"]}, id="broken in place"),
        pytest.param({"b": FILES["b"]}, id="removed"),
    ],
)
def test_the_active_file_may_break_or_vanish_and_programs_still_read_the_last_good_one(
    make_node: MakeNode, files: dict[str, str]
) -> None:
    node = make_node(FILES)
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.volume.update(files)
    node.wait_for(".config.yaml.last-good", FILES["a"])
    node.volume.update(FILES)
    node.wait_for("a", FILES["a"])
    node.label("b")
    node.wait_told(FILES["b"], 2)
    node.stop()


def test_a_deleted_node_keeps_its_config_until_it_is_back(make_node: MakeNode) -> None:
    node = make_node(FILES, default_config="a")
    node.label("b")
    node.start()
    node.wait_for("b", FILES["b"])
    node.server.delete_node("a")
    node.server.wait_for(lambda: "the node does not exist" in node.log)
    assert node.target() == "b"
    node.label(None)
    node.wait_for("a", FILES["a"])
    node.stop()


def test_a_wrong_label_and_a_removed_file_leave_the_copy(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.start()
    node.wait_for("a", FILES["a"])
    node.label("nowhere")
    node.volume.update({"b": FILES["b"]})
    node.wait_for(".config.yaml.last-good", FILES["a"])
    node.stop()


def test_a_config_directory_that_appears_late_is_used_then(make_node: MakeNode) -> None:
    node = make_node(FILES)
    hidden = node.volume.path.with_name("elsewhere")
    node.volume.path.rename(hidden)
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "cannot be read" in node.log)
    hidden.rename(node.volume.path)
    node.wait_for("a", FILES["a"])
    node.stop()


def test_a_link_that_cannot_be_made_is_said_and_tried_again(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.link.mkdir()
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "cannot be changed" in node.log)
    node.link.rmdir()
    node.wait_for("a", FILES["a"])
    node.stop()
