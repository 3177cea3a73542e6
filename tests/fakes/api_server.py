"""An API server on a loopback port that speaks Kubernetes' HTTP, and misbehaves on command.

Objects: nodes, pods, events, daemonsets, nodefeatures; any other collection works the same. Reads, lists and
watches (resource versions, bookmarks, 410), POST, PUT with conflicts, PATCH (merge, strategic, apply), DELETE.

    with ApiServer() as server:
        server.put_node("node-a", labels={"nvidia.com/device-plugin.config": "x"})
        server.misbehave(Refuse(500), watch=True)
        cluster = connect(kubeconfig=str(write_kubeconfig(tmp_path / "kubeconfig", server.url)), environ={})
        ...
        server.wait_for(lambda: server.watches)
        assert [request.method for request in server.requests] == ["GET", "GET"]
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from fakes.api_faults import Fault, WatchEnd
from fakes.api_objects import Key, Object, Store
from fakes.api_requests import Handler, OpenWatch, Request
from fakes.patience import PATIENCE


@dataclass(slots=True, kw_only=True)
class Rule:
    """A fault that waits for the requests it is meant for."""

    fault: Fault
    method: str | None
    path: str
    watch: bool | None
    left: int


@dataclass(slots=True)
class _Net:
    server: ThreadingHTTPServer
    thread: threading.Thread
    connections: set[socket.socket] = field(default_factory=set)
    stopping: threading.Event = field(default_factory=threading.Event)


class ApiServer:
    """The server. Use it as a context manager, or call `start` and `stop`; a restart keeps port and objects."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, tokens: set[str] | None = None) -> None:
        self.store = Store()
        self.tls = tls
        self.tokens = tokens
        """Tokens that are accepted; None accepts every request."""
        self.lacks: set[str] = set()
        """Collections, as `nfd.k8s-sigs.io/nodefeatures`, that nobody has installed."""
        self.rights: set[str] | None = None
        """What the admission plugin OwnerReferencesPermissionEnforcement asks for; None where it does not run."""
        self.requests: list[Request] = []
        self.watches: list[OpenWatch] = []
        self.port = 0
        self._rules: list[Rule] = []
        self._net: _Net | None = None

    @property
    def url(self) -> str:
        """Where clients find the server."""
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, on the same port as before."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64
            api = self

            def get_request(self) -> tuple[Any, Any]:
                connection, address = super().get_request()
                if self.api.tls is not None:
                    connection = self.api.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                self.api.track(connection)
                return connection, address

            def shutdown_request(self, request: Any) -> None:
                self.api.untrack(request)
                super().shutdown_request(request)

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Stay quiet: clients that go away are part of the game."""

        server = Server(("127.0.0.1", self.port), Handler)
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._net = _Net(server, thread)
        thread.start()

    def stop(self) -> None:
        """Close the port and every connection; objects stay."""
        net, self._net = self._net, None
        if net is None:
            return
        net.stopping.set()
        with self.store.condition:
            self.store.condition.notify_all()
        net.server.shutdown()
        net.thread.join()
        net.server.server_close()
        with self.store.condition:
            connections = list(net.connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def restart(self) -> None:
        """Stop and start again on the same port."""
        self.stop()
        self.start()

    @property
    def stopping(self) -> threading.Event:
        """Set once this run of the server is to end."""
        net = self._net
        if net is None:
            ended = threading.Event()
            ended.set()
            return ended
        return net.stopping

    # What a test arranges.

    def misbehave(
        self, fault: Fault, *, method: str | None = None, path: str = "", watch: bool | None = None, times: int = 1
    ) -> None:
        """Do `fault` to the next `times` requests that fit: the method, a part of the path, a watch or not."""
        with self.store.condition:
            self._rules.append(Rule(fault=fault, method=method, path=path, watch=watch, left=times))

    def behave(self) -> None:
        """Forget all faults that have not happened yet."""
        with self.store.condition:
            self._rules.clear()

    def end_watches(self, how: WatchEnd = WatchEnd.ORDERLY) -> None:
        """End every open watch."""
        with self.store.condition:
            for watch in self.watches:
                watch.end = how
            self.store.condition.notify_all()

    def send_bookmarks(self) -> None:
        """Send one bookmark to every open watch that asked for them."""
        with self.store.condition:
            for watch in self.watches:
                watch.bookmarks += 1
            self.store.condition.notify_all()

    def put_node(self, name: str, labels: Mapping[str, str] | None = None) -> Object:
        """Create a node, or set the labels of an existing one."""
        key = Key("nodes", "", name)
        with self.store.condition:
            wanted = dict(labels or {})
            if any(node["metadata"]["name"] == name for node in self.store.list("nodes")):
                return self.store.edit(key, lambda node: node["metadata"].update(labels=wanted))
            body = {"apiVersion": "v1", "kind": "Node", "metadata": {"labels": wanted}, "status": {"conditions": []}}
            return self.store.create(key, body)

    def node(self, name: str) -> Object:
        """Return a node as stored."""
        return self.store.get(Key("nodes", "", name))

    def delete_node(self, name: str) -> None:
        """Delete a node."""
        self.store.delete(Key("nodes", "", name))

    def wait_for(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        """Wait until `condition` holds; it is asked again after each request and change. Fails after `timeout` s."""
        deadline = time.monotonic() + timeout
        with self.store.condition:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, f"not within {timeout} s; last requests: {self.requests[-5:]}"
                self.store.condition.wait(min(left, 0.05))

    # What the requests ask of the server.

    def next_fault(self, request: Request) -> Fault | None:
        """Log a request and return the fault that is meant for it."""
        with self.store.condition:
            self.requests.append(request)
            self.store.condition.notify_all()
            for rule in self._rules:
                fits = (
                    rule.method in (None, request.method)
                    and rule.path in request.path
                    and rule.watch in (None, request.watch)
                )
                if fits:
                    rule.left -= 1
                    if rule.left <= 0:
                        self._rules.remove(rule)
                    return rule.fault
            return None

    def track(self, connection: socket.socket) -> None:
        """Remember an open connection."""
        net = self._net
        if net is not None:
            with self.store.condition:
                net.connections.add(connection)

    def untrack(self, connection: socket.socket) -> None:
        """Forget a closed connection."""
        net = self._net
        if net is not None:
            with self.store.condition:
                net.connections.discard(connection)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
