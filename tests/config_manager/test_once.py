"""The run as an init container, and the sidecar that follows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakes.managed_node import FILES, Node
from gpu_core.errors import ConfigError

MakeNode = Callable[..., Node]


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
    node.wait_told("version: v1 # newer\n", 1)
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


def test_a_sidecar_that_starts_with_a_wrong_label_follows_what_was_in_use(make_node: MakeNode) -> None:
    node = make_node(FILES)
    node.label("a")
    node.start(oneshot=True, send_signal=False)
    node.join()
    node.program.start()
    node.label("nowhere")
    node.start()
    node.server.wait_for(lambda: "There is no config 'nowhere'" in node.log)
    node.volume.update({**FILES, "a": "version: v1 # newer\n"})
    node.wait_told("version: v1 # newer\n", 1)
    node.stop()
