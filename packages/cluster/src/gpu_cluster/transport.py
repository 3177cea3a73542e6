"""One HTTP request to the API server through the `kubernetes` package's ApiClient, without its models.

The client is made anew when a token or a certificate has changed on disk. Nothing is retried here: how long to
wait, and whether, is for the caller to decide, who may have better things to do meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from gpu_cluster.access import Access, fingerprint
from gpu_cluster.errors import UnreachableError, from_response
from gpu_cluster.pace import TokenBucket

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""


class Transport:
    """Sends requests. Threads may share it."""

    def __init__(
        self,
        access: Access,
        bucket: TokenBucket,
        *,
        user_agent: str,
        clock: Callable[[], float],
        sleep: Callable[[float], object],
    ) -> None:
        self._access = access
        self._bucket = bucket
        self._user_agent = user_agent
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._client: Any = None
        self._files: tuple[Path, ...] = ()
        self._seen: tuple[tuple[int, int, int] | None, ...] = ()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        read_timeout: float,
    ) -> Any:
        """Send one request and return urllib3's response, whose body has not been read yet.

        `read_timeout` is the longest silence in seconds. Raises ApiError for every answer but a success.
        """
        import urllib3.exceptions  # noqa: PLC0415
        from kubernetes.client.exceptions import ApiException  # noqa: PLC0415

        with self._lock:
            wait = self._bucket.take(self._clock())
        if wait > 0:
            self._sleep(wait)
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
            response = client.call_api(*serialized, _request_timeout=(CONNECT_TIMEOUT, read_timeout)).response
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

    def close(self) -> None:
        """Close idle connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

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
