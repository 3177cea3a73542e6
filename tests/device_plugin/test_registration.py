"""When the kubelet is told of us, and when again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_plugin.registration import Pace, Phase, Registration, Seen
from device_plugin.sockets import SocketFile

LOOK, LOST_PATIENCE = Pace().look, Pace().lost
FIRST, SECOND = SocketFile(1, 1, 1), SocketFile(1, 1, 2)


def met(at: float = 0.0, kubelet: SocketFile = FIRST) -> Registration:
    return Registration().after_look(Seen(now=at, kubelet=kubelet))


def accepted(at: float = 0.0) -> Registration:
    return met(at).after_acceptance(Seen(now=at, kubelet=FIRST), at)


def followed(at: float = 0.0) -> Registration:
    return accepted(at).after_look(Seen(now=at, kubelet=FIRST, opened=1, open=1))


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
    before = Seen(now=0, kubelet=FIRST, opened=3)
    registration = met().after_acceptance(before, 1).after_look(Seen(now=1, kubelet=FIRST, opened=4, open=1))
    assert registration.phase is Phase.FOLLOWED


def test_a_stream_of_a_former_kubelet_does_not_count() -> None:
    seen = Seen(now=0, kubelet=SECOND, opened=1, open=1)
    registration = followed().after_look(seen).after_acceptance(seen, 0).after_look(seen)
    assert registration.phase is Phase.ACCEPTED


@pytest.mark.parametrize("registration", [met(), accepted(), followed()], ids=lambda r: str(r.phase))
def test_another_kubelet_is_told_at_once(registration: Registration) -> None:
    registration = registration.after_look(Seen(now=1, kubelet=SECOND, opened=1, open=1))
    assert (registration.phase, registration.is_due(1)) == (Phase.MET, True)


@pytest.mark.parametrize("registration", [met(), accepted(), followed()], ids=lambda r: str(r.phase))
def test_a_kubelet_that_goes_is_forgotten(registration: Registration) -> None:
    assert registration.after_look(Seen(now=1, kubelet=None, opened=1, open=1)) == Registration()


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
    ],
)
def test_failures_are_repeated_less_and_less_often(phase: Phase, pauses: list[float]) -> None:
    registration, now, seen = met(), 0.0, []
    for _ in pauses:
        registration = registration.after_failure(phase, "so", now)
        seen.append(round(registration.due - now, 6))
        assert registration.reason == "so"
        assert registration.wait(now) == min(LOOK, registration.due - now)
        now = registration.due
    assert seen == pauses


def test_failures_of_another_kind_begin_anew() -> None:
    registration = met().after_failure(Phase.CLOSED, "", 0).after_failure(Phase.CLOSED, "", 1)
    assert registration.after_failure(Phase.REFUSED, "", 2).due == 3


def test_an_ended_stream_has_a_moment_to_come_back() -> None:
    lost = followed().after_look(Seen(now=10, kubelet=FIRST, opened=1))
    assert (lost.phase, lost.is_due(10), lost.is_due(10 + LOST_PATIENCE)) == (Phase.LOST, False, True)
    assert lost.after_look(Seen(now=11, kubelet=FIRST, opened=1)) == lost
    assert lost.after_look(Seen(now=11, kubelet=FIRST, opened=2, open=1)).phase is Phase.FOLLOWED


@dataclass
class World:
    """A kubelet of many moods, and a plugin that does as its state says."""

    kubelet: SocketFile | None = None
    knows_us: bool = False
    opened: int = 0
    open: int = 0
    now: float = 0.0
    made: int = 0
    accepts: bool = True
    opens: bool = True
    registration: Registration = field(default_factory=Registration)

    def happen(self, what: str) -> None:
        match what:
            case "starts":
                self.made += 1
                self.kubelet, self.knows_us, self.open = SocketFile(1, 1, self.made), False, 0
            case "stops":
                self.kubelet, self.knows_us, self.open = None, False, 0
            case "drops the stream":
                self.knows_us, self.open = False, 0
            case "refuses":
                self.accepts = False
            case "accepts":
                self.accepts = True
            case "opens no stream":
                self.opens = False
            case "opens streams":
                self.opens = True

    def step(self) -> None:
        seen = Seen(now=self.now, kubelet=self.kubelet, opened=self.opened, open=self.open)
        self.registration = self.registration.after_look(seen)
        if self.registration.is_due(self.now):
            if not self.accepts:
                self.registration = self.registration.after_failure(Phase.REFUSED, "", self.now)
            else:
                if self.opens:
                    self.knows_us, self.opened, self.open = True, self.opened + 1, 1
                self.registration = self.registration.after_acceptance(seen, self.now)
        self.now += max(0.01, self.registration.wait(self.now))


EVENTS = ("starts", "stops", "drops the stream", "refuses", "accepts", "opens no stream", "opens streams", "nothing")


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_whatever_happened_a_willing_kubelet_follows_us_in_the_end(happened: list[str]) -> None:
    world = World()
    for what in (*happened, "accepts", "opens streams", "starts"):
        world.happen(what)
        world.step()
    for _ in range(3):
        world.step()
    assert (world.knows_us, world.registration.phase) == (True, Phase.FOLLOWED)
    before = world.opened
    for _ in range(100):
        world.step()
    assert world.opened == before
