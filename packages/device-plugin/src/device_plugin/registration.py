"""Whether it is time to register with the kubelet: a pure state, asked again whenever something may have changed.

A registration is over only once the kubelet has opened ListAndWatch. It has to be made again whenever the kubelet's
socket is another one, and when the kubelet accepts but does not follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from device_plugin.sockets import SocketFile

# Powers of two beyond this would change nothing.
_DOUBLINGS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """How long to wait before another try, in seconds: `first`, then twice as long each time, `longest` at most."""

    first: float
    longest: float

    def after(self, tries: int) -> float:
        """Return the pause after that many tries before this one."""
        return min(self.first * 2.0 ** min(tries, _DOUBLINGS), self.longest)


_STREAM = Pause(first=10.0, longest=300.0)
_CLOSED = Pause(first=0.1, longest=5.0)
_REFUSED = Pause(first=1.0, longest=60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How patient we are with a kubelet, in seconds.

    `look` is the time between two looks when nothing is known to have happened, in case an event was missed. `stream`
    is what the kubelet has to open ListAndWatch after it accepted, `lost` the time without a stream before the same
    kubelet is told of us again. `closed` and `refused` are the pauses after these failures.
    """

    look: float = 5.0
    stream: Pause = _STREAM
    lost: float = 2.0
    closed: Pause = _CLOSED
    refused: Pause = _REFUSED


class Phase(StrEnum):
    """How far we are with the kubelet."""

    ABSENT = "absent"
    """There is no kubelet's socket."""

    MET = "met"
    """There is one that we have not tried yet."""

    CLOSED = "closed"
    """Nobody accepts connections on it."""

    REFUSED = "refused"
    """The kubelet answered Register with an error, or not at all."""

    ACCEPTED = "accepted"
    """The kubelet took the registration, but has not asked for the list yet."""

    FOLLOWED = "followed"
    """The kubelet follows our list."""

    LOST = "lost"
    """The kubelet has ended the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is there now: the kubelet's socket, and how many streams were ever opened and are open.

    `now` is in seconds of a clock that never goes back.
    """

    now: float
    kubelet: SocketFile | None
    opened: int = 0
    open: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Where we stand with one kubelet, told by its socket.

    `pace` is how patient we are. `tries` counts the attempts in a row that came to nothing. `due` is when the next one
    may be made; `opened` how many streams there had been before the last one.
    """

    pace: Pace = field(default_factory=Pace)
    phase: Phase = Phase.ABSENT
    kubelet: SocketFile | None = None
    tries: int = 0
    due: float = 0.0
    opened: int = 0
    reason: str = ""

    def after_look(self, seen: Seen) -> Registration:
        """Return where we stand after a look at the socket and the streams."""
        if seen.kubelet is None:
            return Registration(pace=self.pace)
        if seen.kubelet != self.kubelet:
            # Of what a former kubelet did with us nothing is left.
            return Registration(pace=self.pace, phase=Phase.MET, kubelet=seen.kubelet, due=seen.now, opened=seen.opened)
        match self.phase:
            case Phase.ACCEPTED if seen.opened > self.opened:
                return replace(self, phase=Phase.FOLLOWED, tries=0)
            case Phase.FOLLOWED if not seen.open:
                return replace(self, phase=Phase.LOST, due=seen.now + self.pace.lost)
            case Phase.LOST if seen.open:
                return replace(self, phase=Phase.FOLLOWED)
        return self

    def is_due(self, now: float) -> bool:
        """Tell whether to register now."""
        return self.phase not in (Phase.ABSENT, Phase.FOLLOWED) and now >= self.due

    def wait(self, now: float) -> float:
        """Return after how many seconds to look again at the latest."""
        if self.phase in (Phase.ABSENT, Phase.FOLLOWED):
            return self.pace.look
        return max(0.0, min(self.pace.look, self.due - now))

    def after_acceptance(self, seen: Seen, now: float) -> Registration:
        """Return where we stand after the kubelet accepted; `seen` is what was there before."""
        patience = self.pace.stream.after(self.tries)
        return replace(
            self, phase=Phase.ACCEPTED, tries=self.tries + 1, due=now + patience, opened=seen.opened, reason=""
        )

    def after_failure(self, phase: Phase, reason: str, now: float) -> Registration:
        """Return where we stand after an attempt that ended in `CLOSED` or `REFUSED`."""
        tries = self.tries if phase is self.phase else 0
        pauses = self.pace.closed if phase is Phase.CLOSED else self.pace.refused
        return replace(self, phase=phase, tries=tries + 1, due=now + pauses.after(tries), reason=reason)
