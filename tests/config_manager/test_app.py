from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from fakes.api_faults import Hold, Refuse
from fakes.managed_node import LABEL, Node
from gpu_core.config.words import FallbackStrategy
from gpu_core.errors import ClusterError, ConfigError

FILES = {"a": "version: v1 # a\n", "b": "version: v1 # b\n"}
MakeNode = Callable[..., Node]


def wait_for(node: Node, target: str, content: str) -> None:
    node.server.wait_for(lambda: (node.target(), node.content()) == (target, content))


def wait_told(node: Node, content: str, signals: int) -> None:
    node.server.wait_for(lambda: len(node.program.signals) >= signals)
    assert [node.program.config, len(node.program.signals)] == [content, signals]


def test_the_label_decides_and_each_change_is_told_once(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.program.start()
    node.start()
    wait_told(node, FILES["a"], 1)
    node.label("b")
    wait_told(node, FILES["b"], 2)
    node.volume.update({**FILES, "b": "version: v1 # new\n"})
    wait_told(node, "version: v1 # new\n", 3)
    node.stop()
    assert [content for _, content in node.program.signals] == [FILES["a"], FILES["b"], "version: v1 # new\n"]


def test_nothing_is_touched_before_the_node_was_read(make_node: MakeNode) -> None:
    node = make_node(FILES, default_config="a")
    gate = threading.Event()
    node.server.misbehave(Hold(gate), watch=False)
    node.label("b")
    node.start()
    node.server.wait_for(lambda: node.server.requests)
    node.volume.update({**FILES, "c": ""})
    assert node.target() is None
    gate.set()
    wait_for(node, "b", FILES["b"])
    node.stop()
    assert "'config': 'a'" not in node.log


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_nothing_is_touched_while_the_api_server_refuses(make_node: MakeNode, status: int) -> None:
    node = make_node(FILES, default_config="a")
    node.server.misbehave(Refuse(status), times=5)
    node.start()
    node.server.wait_for(lambda: len(node.server.requests) >= 3)
    assert node.target() is None
    node.label(None)
    wait_for(node, "a", FILES["a"])
    node.stop()


def test_a_label_known_to_be_absent_acts_at_once(make_node: MakeNode) -> None:
    node = make_node(FILES, fallback_strategies=(FallbackStrategy.NAMED, FallbackStrategy.EMPTY))
    node.label(None)
    node.start()
    node.server.wait_for(node.link.is_symlink)
    assert (str(node.link.readlink()), node.content()) == ("/dev/null", "")
    node.stop()


def test_a_missing_file_is_waited_for_and_applied_when_it_appears(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.program.start()
    node.start()
    wait_told(node, FILES["a"], 1)
    node.label("late")
    node.server.wait_for(lambda: "There is no config 'late'" in node.log)
    assert (node.target(), node.content()) == ("a", FILES["a"])
    node.volume.update({**FILES, "late": "version: v1 # late\n"})
    wait_told(node, "version: v1 # late\n", 2)
    node.stop()
    counted = {sample.metric.name: sample.value for sample in node.counters.snapshot()}
    assert counted == {
        "config_manager_configs_applied_total": 2.0,
        "config_manager_configs_refused_total": 1.0,
        "config_manager_signals_total": 2.0,
    }


def test_while_the_label_is_wrong_the_config_in_use_still_follows_its_file(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.program.start()
    node.start()
    wait_told(node, FILES["a"], 1)
    node.label("nowhere")
    node.volume.update({**FILES, "a": "version: v1 # newer\n"})
    wait_told(node, "version: v1 # newer\n", 2)
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
    wait_told(node, FILES["a"], 1)
    node.label("broken")
    node.server.wait_for(lambda: reason in node.log)
    node.label("b")
    wait_told(node, FILES["b"], 2)
    node.stop()


def test_a_check_may_be_skipped(make_node: MakeNode) -> None:
    node = make_node({"other": "flags: {migStrategy: both}\n"}, skip_config_check=True)
    node.label("other")
    node.start()
    wait_for(node, "other", "flags: {migStrategy: both}\n")
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
    wait_told(node, FILES["a"], 1)
    node.volume.update(files)
    wait_for(node, ".config.yaml.last-good", FILES["a"])
    node.volume.update(FILES)
    wait_for(node, "a", FILES["a"])
    node.label("b")
    wait_told(node, FILES["b"], 2)
    node.stop()


def test_equal_content_under_another_name_is_linked_without_a_signal(make_node: MakeNode) -> None:
    node = make_node({**FILES, "twin": FILES["a"]})
    node.label("a")
    node.program.start()
    node.start()
    wait_told(node, FILES["a"], 1)
    node.label("twin")
    wait_for(node, "twin", FILES["a"])
    node.label("b")
    wait_told(node, FILES["b"], 2)
    node.stop()


def test_several_quick_changes_are_one(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.surroundings = node.surroundings_with(settle=0.5)
    node.label("a")
    node.program.start()
    node.start()
    wait_told(node, FILES["a"], 1)
    node.server.wait_for(lambda: node.server.watches)
    for number in range(5):
        node.label("b" if number % 2 else "a")
    node.volume.update({**FILES, "b": "version: v1 # newer\n"})
    node.label("b")
    wait_told(node, "version: v1 # newer\n", 2)
    node.stop()
    assert len(node.program.signals) == 2


def test_a_deleted_node_keeps_its_config_until_it_is_back(make_node: MakeNode) -> None:
    node = make_node(FILES, default_config="a")
    node.label("b")
    node.start()
    wait_for(node, "b", FILES["b"])
    node.server.delete_node("a")
    node.server.wait_for(lambda: "the node does not exist" in node.log)
    assert node.target() == "b"
    node.label(None)
    wait_for(node, "a", FILES["a"])
    node.stop()


def test_a_program_that_starts_late_is_waited_for(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "no process to signal yet" in node.log)
    node.program.start()
    wait_told(node, FILES["a"], 1)
    node.stop()


def test_a_program_that_never_comes_is_given_up_with_the_next_step(make_node: MakeNode) -> None:
    node = make_node(FILES, patience=0.1)
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "Share the process namespace" in node.log)
    node.program.start()
    node.label("b")
    wait_told(node, FILES["b"], 1)
    node.stop()


def test_lack_of_permission_is_said_and_ends_nothing(make_node: MakeNode) -> None:
    def refuse(_pid: int, _number: int) -> None:
        raise PermissionError

    node = make_node(FILES)
    node.surroundings = node.surroundings_with(kill=refuse)
    node.label("a")
    node.program.start()
    node.start()
    node.server.wait_for(lambda: "There is no permission to signal nvidia-device-plugin (process 4001)" in node.log)
    node.label("b")
    wait_for(node, "b", FILES["b"])
    node.stop()


def test_no_signal_is_sent_when_none_is_wished(make_node: MakeNode) -> None:
    node = make_node(FILES, send_signal=False)
    node.label("a")
    node.program.start()
    node.start()
    wait_for(node, "a", FILES["a"])
    node.label("b")
    wait_for(node, "b", FILES["b"])
    node.stop()
    assert node.program.signals == []


def test_a_config_directory_that_appears_late_is_used_then(make_node: MakeNode) -> None:
    node = make_node(FILES)
    hidden = node.volume.path.with_name("elsewhere")
    node.volume.path.rename(hidden)
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "cannot be read" in node.log)
    hidden.rename(node.volume.path)
    wait_for(node, "a", FILES["a"])
    node.stop()


def test_events_of_the_node_tell_what_was_applied_and_refused(make_node: MakeNode) -> None:
    node = make_node(FILES, node_events=True)
    node.label("a")
    node.start()
    wait_for(node, "a", FILES["a"])
    node.label("nowhere")
    node.server.wait_for(lambda: len(node.server.store.list("events")) == 2)
    node.stop()
    told = {(event["type"], event["reason"], event["message"]) for event in node.server.store.list("events")}
    assert told == {
        ("Normal", "GpuConfigApplied", f"The GPU config a is in use: the node's label {LABEL} names it."),
        (
            "Warning",
            "GpuConfigRefused",
            (
                f"There is no config 'nowhere', which the node's label {LABEL} names. "
                "Add the file or change the label. Files: a, b."
            ),
        ),
    }


def test_after_an_init_container_the_sidecar_changes_and_signals_nothing(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.start(oneshot=True, send_signal=False)
    node.join()
    assert (node.target(), node.content()) == ("a", FILES["a"])
    node.program.start()
    node.start()
    node.server.wait_for(lambda: len([line for line in node.log.lines if "config in use" in line]) == 2)
    node.stop()
    assert node.program.signals == []


def test_what_changed_between_init_container_and_sidecar_is_told(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.start(oneshot=True, send_signal=False)
    node.join()
    node.program.start()
    node.volume.update({**FILES, "a": "version: v1 # newer\n"})
    node.start()
    wait_told(node, "version: v1 # newer\n", 1)
    node.stop()


def test_once_waits_for_the_node_and_sends_its_signal(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.program.start()
    node.start(oneshot=True)
    node.server.wait_for(lambda: "the node does not exist" in node.log)
    node.label("b")
    node.join()
    assert [content for _, content in node.program.signals] == [FILES["b"]]


def test_once_ends_with_an_error_for_what_somebody_has_to_put_right(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("nowhere")
    node.start(oneshot=True)
    with pytest.raises(ConfigError, match="There is no config 'nowhere'"):
        node.join()
    assert node.target() is None


def test_once_ends_with_an_error_when_nothing_can_be_signalled(make_node: MakeNode) -> None:
    node = make_node(FILES, patience=0.05)
    node.label("a")
    node.start(oneshot=True)
    with pytest.raises(ConfigError, match="No process nvidia-device-plugin was found within"):
        node.join()
    assert node.target() == "a"


def test_a_link_that_cannot_be_made_is_said_and_tried_again(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.link.mkdir()
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "cannot be changed" in node.log)
    node.link.rmdir()
    wait_for(node, "a", FILES["a"])
    node.stop()


def test_without_a_pod_and_a_kubeconfig_the_start_fails(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.start(kubeconfig="")
    with pytest.raises(ClusterError, match="Run inside a cluster or give --kubeconfig"):
        node.join()
