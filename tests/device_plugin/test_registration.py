"""When the kubelet is told of us, and when again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_plugin.plugin_api.phases import KubeletSeen, OpenStream, Patience, Phase, Progress
from gpu_kubelet.sockets import SocketFile

PATIENCE = Patience()
LOOK, SETTLE, STEADY = PATIENCE.look, PATIENCE.settle, PATIENCE.steady
FIRST, SECOND = SocketFile(1, 1, 1), SocketFile(1, 1, 2)


def seen(
    now: float, *streams: OpenStream, opened: int | None = None, kubelet: SocketFile | None = FIRST
) -> KubeletSeen:
    """Return a look at streams that are open; the last one ever opened is the last of them unless told."""
    last = max((stream.number for stream in streams), default=0)
    return KubeletSeen(now=now, kubelet=kubelet, opened=last if opened is None else opened, streams=streams)


def met(at: float = 0.0, kubelet: SocketFile = FIRST) -> Progress:
    return Progress().after_look(KubeletSeen(now=at, kubelet=kubelet))


def accepted(at: float = 0.0) -> Progress:
    return met(at).after_acceptance(seen(at), at)


def followed(at: float = 0.0) -> Progress:
    """Return a registration whose stream, the first, took its list at once and settled."""
    return accepted(at).after_look(seen(at + SETTLE, OpenStream(1, at)))


def spurned(at: float = 0.0) -> Progress:
    return accepted(at).after_look(seen(at, opened=1))


def test_without_a_socket_there_is_nothing_to_do_but_look() -> None:
    progress = Progress().after_look(KubeletSeen(now=5, kubelet=None))
    assert (progress, progress.is_due(5), progress.wait(5)) == (Progress(), False, LOOK)


def test_a_kubelet_that_appears_is_told_at_once() -> None:
    progress = met(5)
    assert (progress.phase, progress.is_due(5), progress.wait(5)) == (Phase.MET, True, 0)


def test_a_followed_list_asks_for_nothing_more() -> None:
    progress = followed()
    assert (progress.phase, progress.is_due(1e9), progress.wait(1e9)) == (Phase.FOLLOWED, False, LOOK)


def test_a_stream_that_opens_before_register_returns_counts() -> None:
    before = seen(0, opened=3)
    progress = met().after_acceptance(before, 1).after_look(seen(1, OpenStream(4, 0.5)))
    assert progress.phase is Phase.FOLLOWED


def test_a_stream_counts_only_once_its_list_was_taken_and_it_is_still_open_a_moment_later() -> None:
    opened = accepted().after_look(seen(1, OpenStream(1)))
    assert (opened.phase, opened.is_due(1)) == (Phase.ACCEPTED, False)
    taken = opened.after_look(seen(2, OpenStream(1, 2)))
    assert (taken.phase, taken.wait(2)) == (Phase.ACCEPTED, SETTLE)
    assert taken.after_look(seen(2 + SETTLE, OpenStream(1, 2))).phase is Phase.FOLLOWED


def test_a_list_that_was_just_taken_is_waited_for_though_the_time_is_over() -> None:
    late = accepted().due
    taken = accepted().after_look(seen(late, OpenStream(1, late)))
    assert (taken.phase, taken.is_due(late), taken.wait(late)) == (Phase.ACCEPTED, False, SETTLE)


@pytest.mark.parametrize(
    ("look", "reason"),
    [
        pytest.param(seen(1, opened=1), "it ended the stream before it had followed", id="it ends the stream"),
        pytest.param(seen(10, OpenStream(1)), "did not take the list in time", id="it never reads"),
    ],
)
def test_a_kubelet_that_opens_a_stream_and_does_not_take_the_list_is_told_again_later(
    look: KubeletSeen, reason: str
) -> None:
    progress = accepted().after_look(look)
    assert progress.phase is Phase.SPURNED
    assert reason in progress.reason
    assert (progress.is_due(look.now), progress.due) == (False, look.now + PATIENCE.lost.first)


def test_a_kubelet_that_ends_every_stream_at_once_is_told_less_and_less_often() -> None:
    progress, now, pauses = met(), 0.0, []
    for number in range(1, 10):
        progress = progress.after_acceptance(seen(now, opened=number - 1), now)
        progress = progress.after_look(seen(now, opened=number))
        pauses.append(progress.due - now)
        now = progress.due
    assert pauses == [2, 4, 8, 16, 32, 64, 120, 120, 120]


def test_a_kubelet_that_ends_every_stream_after_a_while_is_told_less_and_less_often() -> None:
    progress, now, pauses = met(), 0.0, []
    for number in range(1, 9):
        progress = progress.after_acceptance(seen(now, opened=number - 1), now)
        now += SETTLE
        progress = progress.after_look(seen(now, OpenStream(number, now - SETTLE)))
        assert progress.phase is Phase.FOLLOWED
        progress = progress.after_look(seen(now, opened=number))
        pauses.append(round(progress.due - now, 6))
        now = progress.due
    assert pauses == [2, 4, 8, 16, 32, 64, 120, 120]


def test_a_kubelet_that_has_followed_for_long_is_told_soon_again() -> None:
    progress = spurned()
    for _ in range(5):
        now = progress.due
        progress = progress.after_acceptance(seen(now, opened=1), now).after_look(seen(now, opened=2))
    now = progress.due
    progress = progress.after_acceptance(seen(now, opened=2), now)
    progress = progress.after_look(seen(now + SETTLE, OpenStream(3, now)))
    ended = now + SETTLE + STEADY
    assert progress.after_look(seen(ended, opened=3)).due == ended + PATIENCE.lost.first


def test_a_stream_of_a_former_kubelet_does_not_count() -> None:
    look = seen(9, OpenStream(1, 0), kubelet=SECOND)
    progress = followed().after_look(look).after_acceptance(look, 9).after_look(look)
    assert progress.phase is Phase.ACCEPTED


def test_a_stream_of_somebody_else_neither_counts_nor_keeps_a_lost_one() -> None:
    theirs = OpenStream(2, 1)
    progress = followed().after_look(seen(1, OpenStream(1, 0), theirs))
    assert progress.phase is Phase.FOLLOWED
    assert progress.after_look(seen(2, theirs)).phase is Phase.LOST


@pytest.mark.parametrize("progress", [met(), accepted(), followed(), spurned()], ids=lambda r: str(r.phase))
def test_another_kubelet_is_told_at_once(progress: Progress) -> None:
    progress = progress.after_look(seen(1, OpenStream(1, 0), kubelet=SECOND))
    assert (progress.phase, progress.is_due(1)) == (Phase.MET, True)


@pytest.mark.parametrize("progress", [met(), accepted(), followed(), spurned()], ids=lambda r: str(r.phase))
def test_a_kubelet_that_goes_is_forgotten(progress: Progress) -> None:
    assert progress.after_look(seen(1, OpenStream(1, 0), kubelet=None)) == Progress()


def test_acceptance_without_a_stream_is_repeated_less_and_less_often() -> None:
    progress, now, pauses = met(), 0.0, []
    for _ in range(8):
        progress = progress.after_acceptance(KubeletSeen(now=now, kubelet=FIRST), now)
        pauses.append(progress.due - now)
        assert not progress.is_due(progress.due - 0.1)
        now = progress.due
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]


@pytest.mark.parametrize(
    ("phase", "pauses"),
    [
        pytest.param(Phase.CLOSED, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5], id="nobody accepts"),
        pytest.param(Phase.REFUSED, [1, 2, 4, 8, 16, 32, 60, 60], id="the kubelet refuses"),
        pytest.param(Phase.UNFIT, [15, 30, 60, 120, 240, 480, 600, 600], id="waiting does not help"),
    ],
)
def test_failures_are_repeated_less_and_less_often(phase: Phase, pauses: list[float]) -> None:
    progress, now, waited = met(), 0.0, []
    for _ in pauses:
        progress = progress.after_failure(phase, "so", now)
        waited.append(round(progress.due - now, 6))
        assert progress.reason == "so"
        assert progress.wait(now) == min(LOOK, progress.due - now)
        now = progress.due
    assert waited == pauses


def test_failures_of_another_kind_begin_anew() -> None:
    progress = met().after_failure(Phase.CLOSED, "", 0).after_failure(Phase.CLOSED, "", 1)
    assert progress.after_failure(Phase.REFUSED, "", 2).due == 3


def test_a_lost_stream_is_followed_by_another_registration() -> None:
    lost = followed().after_look(seen(10, opened=1))
    again = 10 + PATIENCE.lost.first
    assert (lost.phase, lost.is_due(10), lost.is_due(again)) == (Phase.LOST, False, True)
    assert lost.after_look(seen(11, opened=1)) == lost


@dataclass
class World:
    """A kubelet of many moods, and a plugin that does as its state says."""

    kubelet: SocketFile | None = None
    knows_us: bool = False
    opened: int = 0
    streams: tuple[OpenStream, ...] = ()
    now: float = 0.0
    made: int = 0
    accepts: bool = True
    opens: bool = True
    takes: bool = True
    progress: Progress = field(default_factory=Progress)

    def happen(self, what: str) -> None:
        match what:
            case "starts":
                self.made += 1
                self.kubelet, self.knows_us, self.streams = SocketFile(1, 1, self.made), False, ()
            case "stops":
                self.kubelet, self.knows_us, self.streams = None, False, ()
            case "drops the stream":
                self.knows_us, self.streams = False, ()
            case "takes no list":
                self.takes = False
            case "takes lists":
                self.takes = True
            case "refuses":
                self.accepts = False
            case "accepts":
                self.accepts = True
            case "opens no stream":
                self.opens = False
            case "opens streams":
                self.opens = True

    def step(self) -> None:
        look = KubeletSeen(now=self.now, kubelet=self.kubelet, opened=self.opened, streams=self.streams)
        self.progress = self.progress.after_look(look)
        if self.progress.is_due(self.now):
            if not self.accepts:
                self.progress = self.progress.after_failure(Phase.REFUSED, "", self.now)
            else:
                if self.opens:
                    self.knows_us, self.opened = self.takes, self.opened + 1
                    self.streams = (OpenStream(self.opened, self.now if self.takes else None),)
                self.progress = self.progress.after_acceptance(look, self.now)
        self.now += max(0.01, self.progress.wait(self.now))


EVENTS = (
    *("starts", "stops", "drops the stream", "refuses", "accepts", "opens no stream", "opens streams"),
    *("takes no list", "takes lists", "nothing"),
)


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_whatever_happened_a_willing_kubelet_follows_us_in_the_end(happened: list[str]) -> None:
    world = World()
    for what in (*happened, "accepts", "opens streams", "takes lists", "starts"):
        world.happen(what)
        world.step()
    for _ in range(4):
        world.step()
    assert (world.knows_us, world.progress.phase) == (True, Phase.FOLLOWED)
    before = world.opened
    for _ in range(100):
        world.step()
    assert world.opened == before
