"""One HTTP request to the API server through the `kubernetes` package's ApiClient, without its models.

The client is made anew when a token or a certificate has changed on disk. Nothing is retried here: how long to
wait, and whether, is for the caller to decide, who may have better things to do meanwhile. Every request has one
deadline, from its turn to the last byte of the answer, and is given up when the program ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from gpu_cluster.access import Access, fingerprint
from gpu_cluster.bounded_calls import SLICE, BoundedCalls
from gpu_cluster.errors import UnreachableError, from_response
from gpu_cluster.rate import TokenBucket
from gpu_core.errors import Ending

T = TypeVar("T")

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""


class Transport:
    """Sends requests. Threads may share it. `stopped` says whether the program ends, and waits for nothing."""

    def __init__(
        self,
        access: Access,
        bucket: TokenBucket,
        *,
        user_agent: str,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
        stopped: Callable[[], bool],
    ) -> None:
        self._access = access
        self._bucket = bucket
        self._user_agent = user_agent
        self._clock = clock
        self._sleep = sleep
        self._stopped = stopped
        self._closed = False
        self._calls = BoundedCalls(self._ending)
        self._turns = threading.Lock()
        self._lock = threading.Lock()
        self._client: Any = None
        self._files: tuple[Path, ...] = ()
        self._seen: tuple[tuple[int, int, int] | None, ...] = ()

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Any = None,
        content_type: str,
        accept: str,
        timeout: float,
    ) -> bytes:
        """Send one request and return the whole body of its answer, at the latest `timeout` seconds after its turn.

        Raises ApiError for every answer but a success, and Ending when the program ends before it comes.
        """
        import urllib3.exceptions  # noqa: PLC0415

        request = f"{method} {path}"

        def answer() -> bytes:
            response = self._send(
                method, path, query=query, body=body, content_type=content_type, accept=accept, silence=timeout
            )
            try:
                content: bytes = response.data
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise UnreachableError(f"The answer to {request} broke off: {error}", status=0) from error
            finally:
                response.release_conn()
            return content

        return self._in_turn(request, answer, timeout, discard=lambda _content: None)

    def open(self, path: str, *, query: Mapping[str, str], accept: str, timeout: float, silence: float) -> Any:
        """Send one GET and return urllib3's response once its headers came, at the latest after `timeout` seconds.

        The body is still to be read; there, `silence` is the longest pause in seconds. Raises as `ask` does.
        """
        return self._in_turn(
            f"GET {path}",
            lambda: self._send("GET", path, query=query, accept=accept, silence=silence),
            timeout,
            discard=lambda response: response.close(),
        )

    def close(self) -> None:
        """End: requests under way are given up, later ones refused, idle connections closed."""
        self._closed = True
        # A request that is being prepared may hold the lock for as long as it hangs, and the end waits for nobody.
        if self._lock.acquire(timeout=SLICE):
            try:
                if self._client is not None:
                    self._client.close()
                    self._client = None
            finally:
                self._lock.release()

    def _in_turn(self, request: str, call: Callable[[], T], timeout: float, *, discard: Callable[[T], object]) -> T:
        with self._turns:
            wait = self._bucket.take(self._clock())

        def waited_for() -> T:
            if wait > 0:
                self._sleep(wait)
            if self._ending():
                raise Ending
            return call()

        return self._calls.run(request, waited_for, seconds=wait + timeout, discard=discard)

    def _ending(self) -> bool:
        return self._closed or self._stopped()

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Any = None,
        content_type: str = "",
        accept: str,
        silence: float,
    ) -> Any:
        """Return the response to a request, its body not yet read. Raises ApiError for every answer but a success."""
        import urllib3.exceptions  # noqa: PLC0415
        from kubernetes.client.exceptions import ApiException  # noqa: PLC0415

        client = self._current_client()
        request = f"{method} {path}"
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        serialized = client.param_serialize(
            method=method,
            resource_path=path,
            query_params=sorted(query.items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            response = client.call_api(*serialized, _request_timeout=(min(CONNECT_TIMEOUT, silence), silence)).response
            if 200 <= response.status <= 299:
                return response
            try:
                content = response.read(decode_content=True)
            finally:
                response.close()
        except ApiException as error:
            _unreachable(request, error.reason, error)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            _unreachable(request, str(error), error)
        raise from_response(request, code=response.status, headers=response.headers, body=content)

    def _current_client(self) -> Any:
        """Return the client, made anew when the files behind its credentials have changed."""
        with self._lock:
            if self._client is None or fingerprint(self._files) != self._seen:
                # The fingerprint comes first: a file that changes while it is read is then read once more.
                files = self._access.files()
                seen = fingerprint(files)
                configuration = self._access.configuration()
                if self._client is not None:
                    self._client.close()
                self._client = _new_client(configuration, self._user_agent)
                self._files, self._seen = files, seen
            return self._client


def _new_client(configuration: Any, user_agent: str) -> Any:
    from kubernetes.client.api_client import ApiClient  # noqa: PLC0415  costs 35 MiB, so only where it is used

    # urllib3 would by itself repeat requests and sleep through Retry-After, out of our sight.
    configuration.retries = False
    # A watch is silent for minutes; the kernel notices a peer that vanished without closing.
    configuration.keep_alive = True
    configuration.connection_pool_maxsize = 2
    client = ApiClient(configuration)
    client.user_agent = user_agent
    return client


def _unreachable(request: str, text: str, cause: Exception) -> NoReturn:
    message = f"The API server did not answer {request}: {' '.join(str(text).split())}"
    raise UnreachableError(message, status=0) from cause
