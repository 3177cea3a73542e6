"""The latest value reaches every reader, whenever it came."""

import threading

from fakes.patience import PATIENCE
from gpu_core.runtime.published import Published


def test_readers_see_the_latest_value_only() -> None:
    state = Published("a")
    assert state.current() == (1, "a")
    state.publish("b")
    state.publish("c")
    assert state.wait_newer(1, timeout=0) == (3, "c")


def test_an_equal_value_is_no_news() -> None:
    state = Published(("x",))
    assert not state.publish(("x",))
    assert state.wait_newer(1, timeout=0) is None


def test_a_waiting_reader_is_woken() -> None:
    state = Published(0)
    seen: list[tuple[int, int] | None] = []
    readers = [threading.Thread(target=lambda: seen.append(state.wait_newer(1, timeout=PATIENCE))) for _ in range(3)]
    for reader in readers:
        reader.start()
    state.publish(1)
    for reader in readers:
        reader.join()
    assert seen == [(2, 1)] * 3


def test_closing_ends_every_wait_and_drops_later_values() -> None:
    state = Published(0)
    seen: list[tuple[int, int] | None] = []
    reader = threading.Thread(target=lambda: seen.append(state.wait_newer(1)))
    reader.start()
    state.close()
    reader.join()
    assert seen == [None]
    assert not state.publish(5)
    assert state.closed
    assert state.current() == (1, 0)


def test_a_value_published_before_closing_is_still_read() -> None:
    state = Published(0)
    state.publish(1)
    state.close()
    assert state.wait_newer(1) == (2, 1)
    assert state.wait_newer(2) is None
