"""The thread that keeps one resource served at its socket and known to the kubelet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from device_plugin._pb import deviceplugin_pb2_grpc as rpc
from device_plugin.kubelet import KubeletClient
from device_plugin.listener import Listener, Place
from device_plugin.metrics import REGISTERED, REGISTERED_AT, REGISTRATION_FAILURES, REGISTRATIONS
from device_plugin.registration import Pace, Phase, Registration, Seen
from device_plugin.sockets import SocketFile, accepts, socket_at
from device_plugin.streams import Streams
from gpu_core.errors import KubeletError
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.probes import Check

_CONNECT_TIMEOUT = 1.0
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0

Ready = Callable[[], str | None]
"""Says what keeps a resource from being served yet; None when nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a resource is served, and where and how patiently it is registered; `kubelet` None does not register."""

    resource: str
    socket: Path
    kubelet: Path | None
    pace: Pace


class Registrar:
    """Serves and registers one resource until it is stopped. `wake` may be called from any thread."""

    def __init__(
        self,
        address: Address,
        servicer: rpc.DevicePluginServicer,
        streams: Streams,
        *,
        ready: Ready,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address
        self._servicer = servicer
        self._streams = streams
        self._ready = ready
        self._counters = counters
        self._clock = clock
        self._log = get_logger(resource=address.resource)
        self._client = KubeletClient(address.kubelet) if address.kubelet else None
        self._listener: Listener | None = None
        self._registration = Registration(pace=address.pace)
        # The kubelet's socket by which the resource was registered last.
        self._accepted: SocketFile | None = None
        self._told = ""
        self._pauses = 0
        self._stopping = False
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{address.socket.stem} registrar", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def standing(self) -> Check:
        """Whether the kubelet follows the list, with what was said last; any thread may ask."""
        followed = self._client is None or self._registration.phase is Phase.FOLLOWED
        ok = followed and self._listener is not None
        return Check(name=self._address.resource, ok=ok, reason=self._told or "not served yet")

    @property
    def running(self) -> bool:
        """Whether the resource is looked after."""
        return self._thread.is_alive()

    def wake(self) -> None:
        """Look at once: something may have changed."""
        self._changed.set()

    def stop(self) -> None:
        """Look after nothing any more; what is served is served until `close`."""
        self._stopping = True
        self._changed.set()
        if self._client is not None:
            self._client.close()
        if self._thread.ident is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop serving, after `stop`; returns when the socket is gone and every call has ended."""
        if self._listener is not None:
            self._listener.close()
        self._counters.set(REGISTERED, 0, resource=self._address.resource)

    def _run(self) -> None:
        wait = 0.0
        while True:
            self._changed.wait(wait)
            self._changed.clear()
            if self._stopping:
                return
            wait = self._step()

    def _step(self) -> float:
        """Do what there is to do now, and return in how many seconds to look again."""
        obstacle = self._serve()
        if obstacle is not None:
            self._tell(obstacle, warns=True)
            self._pauses += 1
            return min(_FIRST_PAUSE * 2.0 ** min(self._pauses - 1, 10), _LONGEST_PAUSE)
        self._pauses = 0
        if self._client is None:
            self._tell(f"Serving on {self._address.socket} without registering, as no kubelet socket is configured")
            return self._address.pace.look
        return self._register(self._client)

    def _serve(self) -> str | None:
        """See to it that our socket is there; return why it is not."""
        if self._listener is not None:
            place = self._listener.place()
            if place is Place.OURS:
                return None
            if place is Place.OTHER and accepts(self._address.socket, _CONNECT_TIMEOUT):
                return f"Another process serves {self._address.socket} now; leaving it alone until that has gone"
            # A kubelet that starts clears its directory. Whoever was connected belonged to the one before.
            self._listener.close()
            self._listener = None
        obstacle = self._ready()
        if obstacle is not None:
            return obstacle
        listener = Listener(self._address.socket, self._servicer)
        try:
            listener.open()
        except KubeletError as error:
            return str(error)
        self._listener = listener
        # Whoever knew the socket before has to hear of the new one.
        self._registration = Registration(pace=self._address.pace)
        return None

    def _register(self, client: KubeletClient) -> float:
        before = self._seen(client)
        self._move(self._registration.after_look(before))
        if not self._registration.is_due(before.now):
            return self._registration.wait(before.now)
        if not accepts(client.socket, _CONNECT_TIMEOUT):
            reason = "nobody accepts connections on it"
            self._move(self._registration.after_failure(Phase.CLOSED, reason, self._clock()))
            return self._registration.wait(self._clock())
        if self._accepted not in (None, before.kubelet):
            # Whoever follows the list belongs to the kubelet before this one, which will never read it again.
            self._streams.end_all()
        failure = client.register(endpoint=self._address.socket.name, resource=self._address.resource)
        if self._stopping:
            return 0.0
        if failure is not None:
            self._counters.add(REGISTRATION_FAILURES, resource=self._address.resource)
            self._move(self._registration.after_failure(Phase.REFUSED, failure, self._clock()))
            return self._registration.wait(self._clock())
        self._accepted = before.kubelet
        self._counters.add(REGISTRATIONS, resource=self._address.resource)
        self._counters.set(REGISTERED_AT, time.time(), resource=self._address.resource)
        self._move(self._registration.after_acceptance(before, self._clock()))
        # The stream may be open already.
        return 0.0

    def _seen(self, client: KubeletClient) -> Seen:
        return Seen(
            now=self._clock(),
            kubelet=socket_at(client.socket),
            opened=self._streams.opened,
            open=self._streams.open,
        )

    def _move(self, registration: Registration) -> None:
        self._registration = registration
        self._counters.set(REGISTERED, float(registration.phase is Phase.FOLLOWED), resource=self._address.resource)
        warns, sentence = _SENTENCES[registration.phase]
        self._tell(sentence.format(socket=self._address.kubelet, reason=registration.reason), warns=warns)

    def _tell(self, sentence: str, *, warns: bool = False) -> None:
        """Log a state once, however long it lasts."""
        if sentence and sentence != self._told:
            self._told = sentence
            (self._log.warning if warns else self._log.info)(sentence)


_SENTENCES = {
    Phase.ABSENT: (False, "Waiting for the kubelet: {socket} does not exist"),
    Phase.MET: (False, ""),
    Phase.CLOSED: (False, "Waiting for the kubelet on {socket}: {reason}"),
    Phase.REFUSED: (True, "The kubelet on {socket} did not take the registration and will be asked again: {reason}"),
    Phase.ACCEPTED: (False, "Registered with the kubelet on {socket}; waiting for it to follow the list of devices"),
    Phase.FOLLOWED: (False, "The kubelet follows the list of devices"),
    Phase.LOST: (True, "The kubelet ended the stream; registering again unless it comes back"),
}
"""Whether a phase deserves a warning, and what is said of it."""
