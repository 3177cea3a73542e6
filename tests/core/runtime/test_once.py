"""What is said once: for as long as it holds, by topic, by pass, and never kept for ever."""

from __future__ import annotations

import pytest

from gpu_core.runtime.once import Once


def test_what_is_repeated_is_said_once() -> None:
    said: list[str] = []
    once = Once(said.append)
    assert [once("no driver"), once("no GPU"), once("no driver")] == [True, True, False]
    once.all(["no GPU", "no link"])
    assert said == ["no driver", "no GPU", "no link"]


def test_what_comes_back_after_a_pass_without_it_is_said_again() -> None:
    said: list[str] = []
    once = Once(said.append)
    for messages in (["driver"], ["driver", "GPU"], ["GPU"], ["driver"], ["driver"]):
        once.next_pass()
        once.all(messages)
    assert said == ["driver", "GPU", "driver"]


def test_of_a_topic_only_the_last_message_holds() -> None:
    said: list[str] = []
    once = Once(said.append)
    for message in ("refused", "refused", "no answer", "refused"):
        once(message, topic="kubelet")
    assert said == ["refused", "no answer", "refused"]
    assert once.last("kubelet") == "refused"
    assert once.last("driver") == ""


def test_what_is_over_is_news_when_it_comes_back() -> None:
    said: list[str] = []
    once = Once(said.append)
    once("refused", topic="kubelet")
    assert [once.over("kubelet"), once.over("kubelet"), once.last("kubelet")] == [True, False, ""]
    once("refused", topic="kubelet")
    once("", topic="kubelet")
    once("refused", topic="kubelet")
    assert said == ["refused"] * 3


def test_an_empty_message_says_nothing() -> None:
    said: list[str] = []
    assert not Once(said.append)("")
    assert said == []


def test_a_message_may_go_another_way() -> None:
    warned: list[str] = []
    informed: list[str] = []
    once = Once(warned.append)
    once("waiting", topic="GPUs")
    once("shared", topic="GPUs", say=informed.append)
    once("shared", topic="GPUs")
    assert (warned, informed) == (["waiting"], ["shared"])


def test_what_could_not_be_said_is_said_later() -> None:
    said: list[str] = []

    def fails(message: str) -> None:
        raise OSError(message)

    once = Once(said.append)
    with pytest.raises(OSError, match="no driver"):
        once("no driver", say=fails)
    once("no driver")
    assert said == ["no driver"]


def test_messages_that_are_never_the_same_are_not_kept_for_ever() -> None:
    said: list[str] = []
    once = Once(said.append, most=3)
    for number in range(100):
        once("it lasts")
        once(f"attempt {number}")
    # What is mentioned again and again stays known; what was mentioned longest ago is forgotten.
    assert said == ["it lasts", *(f"attempt {number}" for number in range(100))]
    assert [once("attempt 99"), once("attempt 1")] == [False, True]
