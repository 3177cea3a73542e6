"""The one loop of every long-running program: events in, one action at a time out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpu_core.errors import Ending
from gpu_core.runtime.events import Event, EventQueue, KubeletChanged, Reload, Rescan, Stop
from gpu_core.runtime.probes import Pulse


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What a program shall do now, in this order; an empty one means that its time has come, with no event.

    Several events of one kind are one action: their reasons are kept, each once. A reload reads the hardware again
    and registers again where that is needed, so it covers the two others.
    """

    stop: tuple[str, ...] = ()
    reload: tuple[str, ...] = ()
    rescan: tuple[str, ...] = ()
    kubelet_changed: bool = False


def next_actions(events: Iterable[Event]) -> Actions:
    """Return what a burst of events asks for; what ends the program leaves nothing else to do."""
    events = tuple(events)
    stop = tuple(dict.fromkeys(event.reason for event in events if isinstance(event, Stop)))
    if stop:
        return Actions(stop=stop)
    return Actions(
        reload=tuple(dict.fromkeys(event.reason for event in events if isinstance(event, Reload))),
        rescan=tuple(dict.fromkeys(event.reason for event in events if isinstance(event, Rescan))),
        kubelet_changed=any(isinstance(event, KubeletChanged) for event in events),
    )


def supervise(
    events: EventQueue,
    act: Callable[[Actions], float | None],
    *,
    first: float | None = 0.0,
    pulse: Pulse | None = None,
) -> None:
    """Call `act` for every burst of events, and when the time that it returned has passed, until a Stop.

    `act` returns after how many seconds it wants to be called at the latest, None for never; `first` is that time
    before the first call. The call with `stop` is the last, and one that raises Ending leaves the rest to it. `pulse`
    hears of every turn.
    """
    wait = first
    while True:
        actions = next_actions(events.take(wait))
        with contextlib.nullcontext() if pulse is None else pulse.turn():
            try:
                wait = act(actions)
            except Ending:
                # What tells us so is in the queue.
                wait = 0.0
        if actions.stop:
            return
