"""Publishes labels as often as it takes: what to do when a destination refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_cluster import ApiError, Backoff, UnauthorizedError
from gpu_core.errors import ClusterError, PublishError
from gpu_feature_discovery.outputs import Output

# A token may be refused in the moment in which it is replaced, so the second refusal counts.
_MOST_REFUSALS = 2


class Publisher:
    """Publishes for a program that stays: a failure is waited out, a token that is refused twice is not.

    `clock` gives seconds that only grow. Whatever asks for another publication, a destination that refused is left
    alone for as long as the back-off says.
    """

    def __init__(
        self, output: Output, *, backoff: Backoff, clock: Callable[[], float], warn: Callable[[str], object]
    ) -> None:
        self.output = output
        self._backoff = backoff
        self._clock = clock
        self._warn = warn
        self._refusals = 0
        self._again = clock()

    def publish(self, labels: Mapping[str, str]) -> float | None:
        """Publish, and return None; or, where that has to wait, in how many seconds to try again.

        Raises UnauthorizedError, and Ending.
        """
        left = self._again - self._clock()
        if left > 0:
            return left
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
        often = "every few minutes" if isinstance(error, ApiError) and error.lasting else "soon"
        self._warn(f"The labels did not reach {self.output.place}, and will be sent again {often}: {error}")
        pause = self._backoff.after(error)
        self._again = self._clock() + pause
        return pause


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
            if not error.passing:
                raise
            sleep(backoff.after(error))
        else:
            return
    output.publish(labels)
