"""Whether it is time to register with the kubelet: a pure state, asked again whenever something may have changed.

A registration is over only once the kubelet has opened ListAndWatch. It has to be made again whenever the kubelet's
socket is another one, and when the kubelet accepts but does not follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from device_plugin.sockets import SocketFile

LOOK = 5.0
"""Seconds between two looks when nothing is known to have happened, in case an event was missed."""

STREAM_PATIENCE = 10.0
"""Seconds that the kubelet has to open ListAndWatch after it accepted; each further try has twice as long."""

LOST_PATIENCE = 2.0
"""Seconds without a stream, before the same kubelet is told of us again."""

_LONGEST_PATIENCE = 300.0


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


_FIRST_RETRY = {Phase.CLOSED: 0.1, Phase.REFUSED: 1.0}
_LONGEST_RETRY = {Phase.CLOSED: 5.0, Phase.REFUSED: 60.0}
# Powers of two beyond this would change nothing.
_DOUBLINGS = 16


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

    `tries` counts the attempts in a row that came to nothing. `due` is when the next one may be made; `opened` how many
    streams there had been before the last one.
    """

    phase: Phase = Phase.ABSENT
    kubelet: SocketFile | None = None
    tries: int = 0
    due: float = 0.0
    opened: int = 0
    reason: str = ""

    def after_look(self, seen: Seen) -> Registration:
        """Return where we stand after a look at the socket and the streams."""
        if seen.kubelet is None:
            return Registration()
        if seen.kubelet != self.kubelet:
            # Of what a former kubelet did with us nothing is left.
            return Registration(phase=Phase.MET, kubelet=seen.kubelet, due=seen.now, opened=seen.opened)
        match self.phase:
            case Phase.ACCEPTED if seen.opened > self.opened:
                return replace(self, phase=Phase.FOLLOWED, tries=0)
            case Phase.FOLLOWED if not seen.open:
                return replace(self, phase=Phase.LOST, due=seen.now + LOST_PATIENCE)
            case Phase.LOST if seen.open:
                return replace(self, phase=Phase.FOLLOWED)
        return self

    def is_due(self, now: float) -> bool:
        """Tell whether to register now."""
        return self.phase not in (Phase.ABSENT, Phase.FOLLOWED) and now >= self.due

    def wait(self, now: float) -> float:
        """Return after how many seconds to look again at the latest."""
        if self.phase in (Phase.ABSENT, Phase.FOLLOWED):
            return LOOK
        return max(0.0, min(LOOK, self.due - now))

    def after_acceptance(self, seen: Seen, now: float) -> Registration:
        """Return where we stand after the kubelet accepted; `seen` is what was there before."""
        patience = min(STREAM_PATIENCE * 2.0 ** min(self.tries, _DOUBLINGS), _LONGEST_PATIENCE)
        return replace(
            self, phase=Phase.ACCEPTED, tries=self.tries + 1, due=now + patience, opened=seen.opened, reason=""
        )

    def after_failure(self, phase: Phase, reason: str, now: float) -> Registration:
        """Return where we stand after an attempt that ended in `CLOSED` or `REFUSED`."""
        tries = self.tries if phase is self.phase else 0
        pause = min(_FIRST_RETRY[phase] * 2.0 ** min(tries, _DOUBLINGS), _LONGEST_RETRY[phase])
        return replace(self, phase=phase, tries=tries + 1, due=now + pause, reason=reason)
