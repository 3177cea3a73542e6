from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from config_manager.loop import Crashed
from fakes.api_faults import Hold, Refuse
from fakes.managed_node import FILES, LABEL, Node
from gpu_core.config.words import FallbackStrategy
from gpu_core.errors import ClusterError, UsageError

MakeNode = Callable[..., Node]


def test_the_label_decides_and_each_change_is_told_once(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.label("b")
    node.wait_told(FILES["b"], 2)
    node.volume.update({**FILES, "b": "version: v1 # new\n"})
    node.wait_told("version: v1 # new\n", 3)
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
    node.wait_for("b", FILES["b"])
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
    node.wait_for("a", FILES["a"])
    node.stop()


def test_a_label_known_to_be_absent_acts_at_once(make_node: MakeNode) -> None:
    node = make_node(FILES, fallback_strategies=(FallbackStrategy.NAMED, FallbackStrategy.EMPTY))
    node.label(None)
    node.start()
    node.server.wait_for(node.link.is_symlink)
    assert (str(node.link.readlink()), node.content()) == ("/dev/null", "")
    node.stop()


def test_events_of_the_node_tell_what_was_applied_and_refused(make_node: MakeNode) -> None:
    node = make_node(FILES, node_events=True)
    node.label("a")
    node.start()
    node.wait_for("a", FILES["a"])
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


def test_without_a_pod_and_a_kubeconfig_the_start_fails(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.start(kubeconfig="")
    with pytest.raises(ClusterError, match="Run inside a cluster or give --kubeconfig"):
        node.join()


@pytest.mark.parametrize("number", [0, -1, 4711])
def test_a_signal_that_does_not_exist_is_refused_at_start(make_node: MakeNode, number: int) -> None:
    node = make_node(FILES, signal=number)
    node.start()
    with pytest.raises(UsageError, match="is no signal"):
        node.join()


def test_a_fault_of_our_own_in_a_thread_ends_the_program(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.start()
    node.server.wait_for(lambda: node.server.watches)
    node.put(Crashed(error=RuntimeError("a fault of our own")))
    with pytest.raises(RuntimeError, match="a fault of our own"):
        node.join()
