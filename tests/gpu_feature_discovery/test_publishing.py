from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpu_cluster import ApiError, Backoff, ForbiddenError, UnauthorizedError
from gpu_core.errors import PublishError, SuiteError
from gpu_feature_discovery.publishing import Publisher, publish_once

LABELS = {"nvidia.com/gpu.count": "8"}


class Moody:
    """A destination that fails as it was told to, one failure after another, and then works."""

    place = "a destination"

    def __init__(self, *failures: SuiteError) -> None:
        self.failures = list(failures)
        self.got: list[Mapping[str, str]] = []

    def publish(self, labels: Mapping[str, str]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.got.append(labels)

    def withdraw(self) -> None:
        self.got.clear()


def backoff() -> Backoff:
    return Backoff(chance=lambda: 1.0, first=1.0)


def status(code: int, retry_after: float | None = None) -> ApiError:
    return ApiError(f"status {code}", status=code, retry_after=retry_after)


def refused() -> UnauthorizedError:
    return UnauthorizedError("refused", status=401)


def test_failures_are_waited_out_for_longer_and_longer() -> None:
    said: list[str] = []
    output = Moody(PublishError("disk full"), status(503), status(429, retry_after=7.0))
    publisher = Publisher(output, backoff=backoff(), warn=said.append)
    assert [publisher.publish(LABELS) for _ in range(4)] == [1.0, 2.0, 9.0, None]
    assert output.got == [LABELS]
    assert said[0] == "The labels did not reach a destination, and will be sent again: disk full"


def test_a_success_forgets_the_failures() -> None:
    output = Moody(status(503), status(503))
    publisher = Publisher(output, backoff=backoff(), warn=lambda _: None)
    assert [publisher.publish(LABELS) for _ in range(3)] == [1.0, 2.0, None]
    output.failures.append(status(503))
    assert publisher.publish(LABELS) == 1.0


def test_a_token_refused_once_may_have_been_replaced_meanwhile() -> None:
    output = Moody(refused())
    publisher = Publisher(output, backoff=backoff(), warn=lambda _: None)
    assert [publisher.publish(LABELS), publisher.publish(LABELS)] == [1.0, None]


def test_a_token_refused_twice_ends_the_program() -> None:
    publisher = Publisher(Moody(refused(), refused()), backoff=backoff(), warn=lambda _: None)
    publisher.publish(LABELS)
    with pytest.raises(UnauthorizedError):
        publisher.publish(LABELS)


@pytest.mark.parametrize(
    "failures",
    [
        pytest.param((), id="nothing fails"),
        pytest.param((status(0),), id="no answer"),
        pytest.param((status(409), status(410)), id="a conflict and an old version"),
        pytest.param((status(429), status(500), status(503), status(504)), id="four failures"),
    ],
)
def test_one_shot_tries_again_what_may_pass(failures: tuple[ApiError, ...]) -> None:
    output = Moody(*failures)
    pauses: list[float] = []
    publish_once(output, LABELS, backoff=backoff(), sleep=pauses.append)
    assert output.got == [LABELS]
    assert len(pauses) == len(failures)


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param((ForbiddenError("no", status=403),), ForbiddenError, id="403 is not tried again"),
        pytest.param((refused(),), UnauthorizedError, id="401 is not tried again"),
        pytest.param((PublishError("disk full"),), PublishError, id="neither is a full disk"),
        pytest.param((status(503),) * 5, ApiError, id="five failures are too many"),
    ],
)
def test_one_shot_fails(failures: tuple[SuiteError, ...], expected: type[SuiteError]) -> None:
    with pytest.raises(expected):
        publish_once(Moody(*failures), LABELS, backoff=backoff(), sleep=lambda _: None)
