"""Publishes labels as often as it takes: what to do when a destination refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_cluster import ApiError, Backoff, UnauthorizedError
from gpu_core.errors import ClusterError, PublishError
from gpu_feature_discovery.outputs import Output

# A token may be refused in the moment in which it is replaced, so the second refusal counts.
_MOST_REFUSALS = 2

# What may be gone a moment later: no answer, a conflict, an old version, too many requests.
_PASSING = frozenset({0, 409, 410, 429})


class Publisher:
    """Publishes for a program that stays: a failure is waited out, a token that is refused twice is not."""

    def __init__(self, output: Output, *, backoff: Backoff, warn: Callable[[str], object]) -> None:
        self.output = output
        self._backoff = backoff
        self._warn = warn
        self._refusals = 0

    def publish(self, labels: Mapping[str, str]) -> float | None:
        """Publish, and return None; or, after a failure, in how many seconds to try again.

        Raises UnauthorizedError.
        """
        try:
            self.output.publish(labels)
        except UnauthorizedError as error:
            self._refusals += 1
            if self._refusals >= _MOST_REFUSALS:
                raise
            return self._failed(error)
        except (PublishError, ClusterError) as error:
            return self._failed(error)
        self._backoff.reset()
        self._refusals = 0
        return None

    def _failed(self, error: PublishError | ClusterError) -> float:
        self._warn(f"The labels did not reach {self.output.place}, and will be sent again: {error}")
        return self._backoff.next_pause(error.retry_after if isinstance(error, ApiError) else None)


def publish_once(
    output: Output,
    labels: Mapping[str, str],
    *,
    backoff: Backoff,
    sleep: Callable[[float], object],
    attempts: int = 5,
) -> None:
    """Publish for a program that ends: what may pass is tried again a few times, all else is raised at once."""
    for _ in range(attempts - 1):
        try:
            output.publish(labels)
        except ApiError as error:
            if error.status not in _PASSING and error.status < 500:
                raise
            sleep(backoff.next_pause(error.retry_after))
        else:
            return
    output.publish(labels)
