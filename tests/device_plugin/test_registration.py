"""When the kubelet is told of us, and when again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_plugin.plugin_api.phases import OpenStream, Pace, Phase, Registration, Seen
from gpu_kubelet.sockets import SocketFile

PACE = Pace()
LOOK, SETTLE, STEADY = PACE.look, PACE.settle, PACE.steady
FIRST, SECOND = SocketFile(1, 1, 1), SocketFile(1, 1, 2)


def seen(now: float, *streams: OpenStream, opened: int | None = None, kubelet: SocketFile | None = FIRST) -> Seen:
    """Return a look at streams that are open; the last one ever opened is the last of them unless told."""
    last = max((stream.number for stream in streams), default=0)
    return Seen(now=now, kubelet=kubelet, opened=last if opened is None else opened, streams=streams)


def met(at: float = 0.0, kubelet: SocketFile = FIRST) -> Registration:
    return Registration().after_look(Seen(now=at, kubelet=kubelet))


def accepted(at: float = 0.0) -> Registration:
    return met(at).after_acceptance(seen(at), at)


def followed(at: float = 0.0) -> Registration:
    """Return a registration whose stream, the first, took its list at once and settled."""
    return accepted(at).after_look(seen(at + SETTLE, OpenStream(1, at)))


def spurned(at: float = 0.0) -> Registration:
    return accepted(at).after_look(seen(at, opened=1))


def test_without_a_socket_there_is_nothing_to_do_but_look() -> None:
    registration = Registration().after_look(Seen(now=5, kubelet=None))
    assert (registration, registration.is_due(5), registration.wait(5)) == (Registration(), False, LOOK)


def test_a_kubelet_that_appears_is_told_at_once() -> None:
    registration = met(5)
    assert (registration.phase, registration.is_due(5), registration.wait(5)) == (Phase.MET, True, 0)


def test_a_followed_list_asks_for_nothing_more() -> None:
    registration = followed()
    assert (registration.phase, registration.is_due(1e9), registration.wait(1e9)) == (Phase.FOLLOWED, False, LOOK)


def test_a_stream_that_opens_before_register_returns_counts() -> None:
    before = seen(0, opened=3)
    registration = met().after_acceptance(before, 1).after_look(seen(1, OpenStream(4, 0.5)))
    assert registration.phase is Phase.FOLLOWED


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
def test_a_kubelet_that_opens_a_stream_and_does_not_take_the_list_is_told_again_later(look: Seen, reason: str) -> None:
    registration = accepted().after_look(look)
    assert registration.phase is Phase.SPURNED
    assert reason in registration.reason
    assert (registration.is_due(look.now), registration.due) == (False, look.now + PACE.lost.first)


def test_a_kubelet_that_ends_every_stream_at_once_is_told_less_and_less_often() -> None:
    registration, now, pauses = met(), 0.0, []
    for number in range(1, 10):
        registration = registration.after_acceptance(seen(now, opened=number - 1), now)
        registration = registration.after_look(seen(now, opened=number))
        pauses.append(registration.due - now)
        now = registration.due
    assert pauses == [2, 4, 8, 16, 32, 64, 120, 120, 120]


def test_a_kubelet_that_ends_every_stream_after_a_while_is_told_less_and_less_often() -> None:
    registration, now, pauses = met(), 0.0, []
    for number in range(1, 9):
        registration = registration.after_acceptance(seen(now, opened=number - 1), now)
        now += SETTLE
        registration = registration.after_look(seen(now, OpenStream(number, now - SETTLE)))
        assert registration.phase is Phase.FOLLOWED
        registration = registration.after_look(seen(now, opened=number))
        pauses.append(round(registration.due - now, 6))
        now = registration.due
    assert pauses == [2, 4, 8, 16, 32, 64, 120, 120]


def test_a_kubelet_that_has_followed_for_long_is_told_soon_again() -> None:
    registration = spurned()
    for _ in range(5):
        now = registration.due
        registration = registration.after_acceptance(seen(now, opened=1), now).after_look(seen(now, opened=2))
    now = registration.due
    registration = registration.after_acceptance(seen(now, opened=2), now)
    registration = registration.after_look(seen(now + SETTLE, OpenStream(3, now)))
    ended = now + SETTLE + STEADY
    assert registration.after_look(seen(ended, opened=3)).due == ended + PACE.lost.first


def test_a_stream_of_a_former_kubelet_does_not_count() -> None:
    look = seen(9, OpenStream(1, 0), kubelet=SECOND)
    registration = followed().after_look(look).after_acceptance(look, 9).after_look(look)
    assert registration.phase is Phase.ACCEPTED


def test_a_stream_of_somebody_else_neither_counts_nor_keeps_a_lost_one() -> None:
    theirs = OpenStream(2, 1)
    registration = followed().after_look(seen(1, OpenStream(1, 0), theirs))
    assert registration.phase is Phase.FOLLOWED
    assert registration.after_look(seen(2, theirs)).phase is Phase.LOST


@pytest.mark.parametrize("registration", [met(), accepted(), followed(), spurned()], ids=lambda r: str(r.phase))
def test_another_kubelet_is_told_at_once(registration: Registration) -> None:
    registration = registration.after_look(seen(1, OpenStream(1, 0), kubelet=SECOND))
    assert (registration.phase, registration.is_due(1)) == (Phase.MET, True)


@pytest.mark.parametrize("registration", [met(), accepted(), followed(), spurned()], ids=lambda r: str(r.phase))
def test_a_kubelet_that_goes_is_forgotten(registration: Registration) -> None:
    assert registration.after_look(seen(1, OpenStream(1, 0), kubelet=None)) == Registration()


def test_acceptance_without_a_stream_is_repeated_less_and_less_often() -> None:
    registration, now, pauses = met(), 0.0, []
    for _ in range(8):
        registration = registration.after_acceptance(Seen(now=now, kubelet=FIRST), now)
        pauses.append(registration.due - now)
        assert not registration.is_due(registration.due - 0.1)
        now = registration.due
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
    registration, now, waited = met(), 0.0, []
    for _ in pauses:
        registration = registration.after_failure(phase, "so", now)
        waited.append(round(registration.due - now, 6))
        assert registration.reason == "so"
        assert registration.wait(now) == min(LOOK, registration.due - now)
        now = registration.due
    assert waited == pauses


def test_failures_of_another_kind_begin_anew() -> None:
    registration = met().after_failure(Phase.CLOSED, "", 0).after_failure(Phase.CLOSED, "", 1)
    assert registration.after_failure(Phase.REFUSED, "", 2).due == 3


def test_a_lost_stream_is_followed_by_another_registration() -> None:
    lost = followed().after_look(seen(10, opened=1))
    again = 10 + PACE.lost.first
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
    registration: Registration = field(default_factory=Registration)

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
        look = Seen(now=self.now, kubelet=self.kubelet, opened=self.opened, streams=self.streams)
        self.registration = self.registration.after_look(look)
        if self.registration.is_due(self.now):
            if not self.accepts:
                self.registration = self.registration.after_failure(Phase.REFUSED, "", self.now)
            else:
                if self.opens:
                    self.knows_us, self.opened = self.takes, self.opened + 1
                    self.streams = (OpenStream(self.opened, self.now if self.takes else None),)
                self.registration = self.registration.after_acceptance(look, self.now)
        self.now += max(0.01, self.registration.wait(self.now))


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
    assert (world.knows_us, world.registration.phase) == (True, Phase.FOLLOWED)
    before = world.opened
    for _ in range(100):
        world.step()
    assert world.opened == before
