"""Who is told, and how often."""

from __future__ import annotations

from collections.abc import Callable

from fakes.managed_node import FILES, Node

MakeNode = Callable[..., Node]


def test_equal_content_under_another_name_is_linked_without_a_signal(make_node: MakeNode) -> None:
    node = make_node({**FILES, "twin": FILES["a"]})
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.label("twin")
    node.wait_for("twin", FILES["a"])
    node.label("b")
    node.wait_told(FILES["b"], 2)
    node.stop()


def test_several_quick_changes_are_one(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.surroundings = node.surroundings_with(settle=0.5)
    node.label("a")
    node.program.start()
    node.start()
    node.wait_told(FILES["a"], 1)
    node.server.wait_for(lambda: node.server.watches)
    for number in range(5):
        node.label("b" if number % 2 else "a")
    node.volume.update({**FILES, "b": "version: v1 # newer\n"})
    node.label("b")
    node.wait_told("version: v1 # newer\n", 2)
    node.stop()
    assert len(node.program.signals) == 2


def test_a_program_that_starts_late_is_waited_for(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "no process to signal yet" in node.log)
    node.program.start()
    node.wait_told(FILES["a"], 1)
    node.stop()


def test_a_program_that_never_comes_is_given_up_with_the_next_step(make_node: MakeNode) -> None:
    node = make_node(FILES, patience=0.1)
    node.label("a")
    node.start()
    node.server.wait_for(lambda: "Share the process namespace" in node.log)
    node.program.start()
    node.label("b")
    node.wait_told(FILES["b"], 1)
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
    node.wait_for("b", FILES["b"])
    node.stop()


def test_no_signal_is_sent_when_none_is_wished(make_node: MakeNode) -> None:
    node = make_node(FILES, send_signal=False)
    node.label("a")
    node.program.start()
    node.start()
    node.wait_for("a", FILES["a"])
    node.label("b")
    node.wait_for("b", FILES["b"])
    node.stop()
    assert node.program.signals == []
