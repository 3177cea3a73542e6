"""The thread that keeps one resource served at its socket and known to the kubelet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from device_plugin.metrics import REGISTERED_AT, REGISTRATION_FAILURES, REGISTRATIONS
from device_plugin.plugin_api.phases import KubeletSeen, Patience, Phase, Progress
from device_plugin.plugin_api.registration import KubeletClient
from device_plugin.plugin_api.servicer import answer_as_plugin, plugin_listener
from device_plugin.plugin_api.streams import Streams
from gpu_core.errors import KubeletError
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.pause import Pause, Retry
from gpu_core.runtime.probes import Check
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc
from gpu_kubelet.listener import LAST_CALLS, Listener, Occupant, answered
from gpu_kubelet.sockets import Server, accepts, server_at, socket_at

_CONNECT_TIMEOUT = 1.0
_OBSTRUCTED = Pause(first=0.5, longest=30.0)
"""Between two tries to make our socket."""

Ready = Callable[[], str | None]
"""Says what keeps a resource from being served yet; None when nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSocket:
    """Where a resource is served, and where and how patiently it is registered; `kubelet` None does not register."""

    resource: str
    path: Path
    kubelet: Path | None
    patience: Patience


class Registrar:
    """Serves and registers one resource until it is stopped. `wake` may be called from any thread."""

    def __init__(
        self,
        socket: ResourceSocket,
        servicer: rpc.DevicePluginServicer,
        streams: Streams,
        *,
        ready: Ready,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._socket = socket
        self._servicer = servicer
        self._streams = streams
        self._ready = ready
        self._counters = counters
        self._clock = clock
        self._log = get_logger(resource=socket.resource)
        self._client = KubeletClient(socket.kubelet) if socket.kubelet else None
        self._listener: Listener | None = None
        self._progress = Progress(patience=socket.patience)
        # Whether the path was ours when we looked last, and since when a path that had been taken from us is free.
        self._placed = False
        self._displaced = False
        self._free_since: float | None = None
        self._said = ""
        self._logged = ""
        self._obstructed = Retry(pause=_OBSTRUCTED)
        self._stopping = False
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{socket.path.stem} registrar", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def registered(self) -> bool | None:
        """Whether the kubelet follows the list now, on a socket that is ours; None where there is no kubelet.

        Any thread may ask.
        """
        if self._client is None:
            return None
        progress = self._progress
        followed = progress.phase is Phase.FOLLOWED and self._streams.is_open(progress.stream)
        return followed and self._placed

    @property
    def standing(self) -> Check:
        """Whether the kubelet follows the list, with what was said last; any thread may ask."""
        registered, said = self.registered, self._said
        if registered is None:
            return Check(name=self._socket.resource, ok=self._placed, reason=said or _NOT_YET)
        if not registered and said == _SENTENCES[Phase.FOLLOWED]:
            # It has just ended the stream, and we have not looked again.
            said = _SENTENCES[Phase.LOST]
        return Check(name=self._socket.resource, ok=registered, reason=said or _NOT_YET)

    @property
    def running(self) -> bool:
        """Whether the resource is looked after."""
        return self._thread.is_alive()

    def wake(self) -> None:
        """Look at once: something may have changed."""
        self._changed.set()

    def stop(self) -> None:
        """Begin to stop serving; returns at once."""
        self._stopping = True
        self._changed.set()
        if self._client is not None:
            self._client.close()

    def close(self, deadline: float) -> None:
        """Wait after `stop` until every call has ended, until the moment `deadline` at the latest."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._listener is not None and not self._thread.is_alive():
            self._listener.close(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        wait = 0.0
        while True:
            self._changed.wait(wait)
            self._changed.clear()
            if self._stopping:
                if self._listener is not None:
                    self._listener.end()
                return
            wait = self._step()

    def _step(self) -> float:
        """Do what there is to do now, and return in how many seconds to look again."""
        obstacle = self._serve()
        self._placed = obstacle is None
        if obstacle is not None:
            self._tell(obstacle, warns=True)
            return self._see_again()
        self._obstructed.succeeded()
        if self._client is None:
            self._tell(f"Serving on {self._socket.path} without registering, as no kubelet socket is configured")
            return self._socket.patience.look
        return self._register(self._client)

    def _see_again(self) -> float:
        """Return in how many seconds to see again whether we can serve."""
        if self._free_since is not None:
            return max(0.0, self._free_since + self._socket.patience.precedence - self._clock())
        if self._displaced:
            # The other's death leaves its socket as it was, and so is seen by looking only.
            return self._socket.patience.look
        return self._obstructed.failed()

    def _serve(self) -> str | None:
        """See to it that our socket is there; return why it is not."""
        if self._listener is not None:
            occupant = self._listener.occupant()
            if occupant is Occupant.OURS:
                self._displaced, self._free_since = False, None
                return None
            obstacle = self._obstacle(occupant)
            if obstacle is not None:
                return obstacle
            # A kubelet that starts clears its directory. Whoever was connected belonged to the one before.
            self._listener.close(LAST_CALLS)
            self._listener = None
        self._displaced, self._free_since = False, None
        obstacle = self._ready()
        if obstacle is not None:
            return obstacle
        listener = plugin_listener(self._socket.path, self._servicer)
        try:
            listener.open()
        except KubeletError as error:
            return str(error)
        self._listener = listener
        # Whoever knew the socket before has to hear of the new one.
        self._progress = Progress(patience=self._socket.patience)
        return None

    def _obstacle(self, occupant: Occupant) -> str | None:
        """Return why we may not place our socket anew: the newer of two serves, and the older one waits."""
        path = self._socket.path
        other = server_at(path, _CONNECT_TIMEOUT) if occupant is Occupant.OTHER else None
        if other is not None:
            self._displaced, self._free_since = True, None
            return f"Another process serves {path}: {_described(other, path)}. We serve there again when it has gone"
        if occupant is Occupant.OTHER or not self._displaced:
            # What a process that has died left behind is no more than an empty place.
            return None
        now = self._clock()
        if self._free_since is None:
            self._free_since = now
        if now - self._free_since >= self._socket.patience.precedence:
            return None
        return f"Whoever served {path} has gone; serving there again soon"

    def _register(self, client: KubeletClient) -> float:
        before = self._look(client)
        progress = self._progress
        if not progress.is_due(before.now):
            return progress.wait(before.now)
        if not accepts(client.socket, _CONNECT_TIMEOUT):
            reason = "nobody accepts connections on it"
            self._move(progress.after_failure(Phase.CLOSED, reason, self._clock()))
            return self._progress.wait(self._clock())
        if not progress.futile:
            # Whoever follows the list belongs to the kubelet before this one, which will never read it again.
            self._streams.end_all()
        failure = client.register(endpoint=self._socket.path.name, resource=self._socket.resource)
        if self._stopping:
            return 0.0
        if failure is not None:
            self._counters.add(REGISTRATION_FAILURES, resource=self._socket.resource)
            phase = Phase.UNFIT if failure.lasting else Phase.REFUSED
            self._move(self._progress.after_failure(phase, failure.reason, self._clock()))
            return self._progress.wait(self._clock())
        self._counters.add(REGISTRATIONS, resource=self._socket.resource)
        self._counters.set(REGISTERED_AT, time.time(), resource=self._socket.resource)
        self._move(self._progress.after_acceptance(before, self._clock()))
        # The stream may be open already.
        return 0.0

    def _look(self, client: KubeletClient) -> KubeletSeen:
        # In this order: a stream that ends in between is one that was open.
        opened = self._streams.opened
        seen = KubeletSeen(
            now=self._clock(), kubelet=socket_at(client.socket), opened=opened, streams=self._streams.open
        )
        pending = self._progress.stream
        self._move(self._progress.after_look(seen))
        if self._progress.phase is Phase.SPURNED and pending:
            # A kubelet that does not read keeps it open for ever, and will be given another.
            self._streams.cut(pending)
        return seen

    def _move(self, progress: Progress) -> None:
        self._progress = progress
        sentence = _SENTENCES[progress.phase].format(socket=self._socket.kubelet, reason=progress.reason)
        # Of a registration that is repeated it is known already what came of it.
        quiet = progress.phase is Phase.ACCEPTED and progress.futile > 1
        self._tell(sentence, warns=progress.phase in _WARNINGS, quiet=quiet)

    def _tell(self, sentence: str, *, warns: bool = False, quiet: bool = False) -> None:
        """Say where we stand to whoever asks, and log it once, however long it lasts."""
        if not sentence:
            return
        self._said = sentence
        if not quiet and sentence != self._logged:
            self._logged = sentence
            (self._log.warning if warns else self._log.info)(sentence)


def _described(other: Server, path: Path) -> str:
    if other.pid is not None:
        return f"process {other.pid} ({other.name})" if other.name else f"process {other.pid}"
    if answered(path, answer_as_plugin, _CONNECT_TIMEOUT):
        return "a device plugin in another container"
    return "one in another container that does not answer as a device plugin"


_NOT_YET = "not served yet"

_SENTENCES = {
    Phase.ABSENT: "Waiting for the kubelet: {socket} does not exist",
    Phase.MET: "",
    Phase.CLOSED: "Waiting for the kubelet on {socket}: {reason}",
    Phase.REFUSED: "The kubelet on {socket} did not take the registration and will be asked again: {reason}",
    Phase.UNFIT: "The registration was refused on {socket}, and is tried again every few minutes only: {reason}",
    Phase.ACCEPTED: "Registered with the kubelet on {socket}; waiting for it to follow the list of devices",
    Phase.FOLLOWED: "The kubelet follows the list of devices",
    Phase.LOST: "The kubelet ended the stream; registering again",
    Phase.SPURNED: (
        "The kubelet on {socket} takes the registration and does not follow the list: {reason}. Its own log says why. "
        "Registering again, less and less often"
    ),
}
"""What is said of a phase."""

_WARNINGS = (Phase.REFUSED, Phase.UNFIT, Phase.LOST, Phase.SPURNED)
