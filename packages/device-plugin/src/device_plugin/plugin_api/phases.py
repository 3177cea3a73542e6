"""Whether it is time to register with the kubelet: a pure state, asked again whenever something may have changed.

A registration is over only once the kubelet follows: it has opened ListAndWatch, has taken the list, and goes on
listening. It has to be made again whenever the kubelet's socket is another one, and when the kubelet accepts but does
not follow: then less and less often, until it has followed for a good while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gpu_core.runtime.pause import Pause
from gpu_kubelet.sockets import SocketFile

_STREAM = Pause(first=10.0, longest=300.0)
_LOST = Pause(first=2.0, longest=120.0)
_CLOSED = Pause(first=0.1, longest=5.0)
_REFUSED = Pause(first=1.0, longest=60.0)
_UNFIT = Pause(first=15.0, longest=600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How patient we are with a kubelet, in seconds.

    `look` is the time between two looks when nothing is known to have happened, in case an event was missed. `stream`
    is what the kubelet has to open ListAndWatch and take the list after it accepted, `settle` how long the stream has
    to stay open then before it counts, and `steady` how long before all is forgiven. `lost` is the time without a
    stream before the same kubelet is told of us again. `closed`, `refused` and `unfit` are the pauses after these
    failures. `precedence` is what another plugin that served at our socket has to place its own anew, as after a
    kubelet's start, before we place ours.
    """

    look: float = 5.0
    stream: Pause = _STREAM
    settle: float = 0.25
    steady: float = 60.0
    lost: Pause = _LOST
    closed: Pause = _CLOSED
    refused: Pause = _REFUSED
    unfit: Pause = _UNFIT
    precedence: float = 2.0


_ENDED = "it ended the stream before it had followed for a moment"
_NOT_TAKEN = "it opened the stream and did not take the list in time"


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

    UNFIT = "unfit"
    """Register was answered with an error that waiting does not change."""

    ACCEPTED = "accepted"
    """The kubelet took the registration, but does not follow the list yet."""

    FOLLOWED = "followed"
    """The kubelet follows our list."""

    LOST = "lost"
    """The kubelet has ended the stream after it had followed."""

    SPURNED = "spurned"
    """The kubelet has ended the stream before it had followed, or did not take the list in time."""


@dataclass(frozen=True, slots=True)
class OpenStream:
    """A stream that may be the kubelet's, by its number; `taken` is when it took its first list, None before."""

    number: int
    taken: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletSeen:
    """What is there now: the kubelet's socket, how many streams were ever opened, and those that are open, in order.

    `now` is in seconds of a clock that never goes back.
    """

    now: float
    kubelet: SocketFile | None
    opened: int = 0
    streams: tuple[OpenStream, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where we stand with one kubelet, told by its socket.

    `patience` is what we have with it. `tries` counts the attempts in a row that ended the same way, `futile` the
    registrations in a row after which the kubelet did not follow for long. `due` is when the next one may be made.
    Streams with numbers up to `opened` are none that the last one brought about; `stream` is the one that it did, 0
    before there is one, and `since` when that was first followed. `settles` is when an open stream will count.
    """

    patience: Patience = field(default_factory=Patience)
    phase: Phase = Phase.ABSENT
    kubelet: SocketFile | None = None
    tries: int = 0
    futile: int = 0
    due: float = 0.0
    opened: int = 0
    stream: int = 0
    since: float = 0.0
    settles: float = math.inf
    reason: str = ""

    def after_look(self, seen: KubeletSeen) -> Progress:
        """Return where we stand after a look at the socket and the streams."""
        if seen.kubelet is None:
            return Progress(patience=self.patience)
        if seen.kubelet != self.kubelet:
            # Of what a former kubelet did with us nothing is left.
            return Progress(
                patience=self.patience, phase=Phase.MET, kubelet=seen.kubelet, due=seen.now, opened=seen.opened
            )
        match self.phase:
            case Phase.ACCEPTED:
                return self._after_streams(seen)
            case Phase.FOLLOWED if all(stream.number != self.stream for stream in seen.streams):
                steady = seen.now - self.since >= self.patience.steady
                return self._without_stream(Phase.LOST, seen.now, "", futile=1 if steady else self.futile)
        return self

    def _after_streams(self, seen: KubeletSeen) -> Progress:
        # A kubelet opens one stream for each registration, so of several it is the first one.
        stream = next((stream for stream in seen.streams if stream.number > self.opened), None)
        if stream is None:
            if seen.opened > self.opened:
                return self._without_stream(Phase.SPURNED, seen.now, _ENDED, futile=self.futile)
            return self
        if stream.taken is None and seen.now >= self.due:
            return self._without_stream(Phase.SPURNED, seen.now, _NOT_TAKEN, futile=self.futile)
        settles = math.inf if stream.taken is None else stream.taken + self.patience.settle
        if seen.now >= settles:
            return replace(self, phase=Phase.FOLLOWED, stream=stream.number, since=seen.now, settles=math.inf)
        return replace(self, stream=stream.number, settles=settles)

    def _without_stream(self, phase: Phase, now: float, reason: str, *, futile: int) -> Progress:
        # The kubelet needs a moment to notice too; the stream's end would otherwise count against the next one.
        due = now + self.patience.lost.after(futile - 1)
        return replace(self, phase=phase, futile=futile, due=due, reason=reason, stream=0, settles=math.inf)

    def is_due(self, now: float) -> bool:
        """Tell whether to register now."""
        if self.phase in (Phase.ABSENT, Phase.FOLLOWED) or not math.isinf(self.settles):
            return False
        return now >= self.due

    def wait(self, now: float) -> float:
        """Return after how many seconds to look again at the latest."""
        if self.phase in (Phase.ABSENT, Phase.FOLLOWED):
            return self.patience.look
        until = self.due if math.isinf(self.settles) else self.settles
        return max(0.0, min(self.patience.look, until - now))

    def after_acceptance(self, seen: KubeletSeen, now: float) -> Progress:
        """Return where we stand after the kubelet accepted; `seen` is what was there before."""
        return replace(
            self,
            phase=Phase.ACCEPTED,
            tries=0,
            futile=self.futile + 1,
            due=now + self.patience.stream.after(self.futile),
            opened=seen.opened,
            stream=0,
            settles=math.inf,
            reason="",
        )

    def after_failure(self, phase: Phase, reason: str, now: float) -> Progress:
        """Return where we stand after an attempt that ended in `CLOSED`, `REFUSED` or `UNFIT`."""
        tries = self.tries if phase is self.phase else 0
        pauses = {
            Phase.CLOSED: self.patience.closed,
            Phase.REFUSED: self.patience.refused,
            Phase.UNFIT: self.patience.unfit,
        }
        due = now + pauses[phase].after(tries)
        return replace(self, phase=phase, tries=tries + 1, due=due, reason=reason, stream=0, settles=math.inf)
