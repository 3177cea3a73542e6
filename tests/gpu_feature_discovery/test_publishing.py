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
    feeds_nfd = False
    grace = 0.0

    def __init__(self, *failures: SuiteError) -> None:
        self.failures = list(failures)
        self.got: list[Mapping[str, str]] = []
        self.asked = 0

    @property
    def parts(self) -> tuple[Moody, ...]:
        return (self,)

    @property
    def active(self) -> Moody:
        return self

    def publish(self, labels: Mapping[str, str]) -> None:
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        self.got.append(labels)

    def withdraw(self) -> None:
        self.got.clear()

    def take_back(self, inherited: Mapping[str, str], *, known: bool) -> bool:
        raise AssertionError


class Patient:
    """A publisher, and a clock that goes on to when the publisher wants to try again."""

    def __init__(self, output: Moody) -> None:
        self.said: list[str] = []
        self.time = 100.0
        self.publisher = Publisher(output, backoff=backoff(), clock=lambda: self.time, warn=self.said.append)

    def publish(self) -> float | None:
        pause = self.publisher.publish(LABELS)
        self.time += pause or 0.0
        return pause


def backoff() -> Backoff:
    return Backoff(chance=lambda: 1.0, first=1.0)


def status(code: int, retry_after: float | None = None) -> ApiError:
    return ApiError(f"status {code}", status=code, retry_after=retry_after)


def refused() -> UnauthorizedError:
    return UnauthorizedError("refused", status=401)


def test_failures_are_waited_out_for_longer_and_longer() -> None:
    output = Moody(PublishError("disk full"), status(503), status(429, retry_after=7.0))
    patient = Patient(output)
    assert [patient.publish() for _ in range(4)] == [1.0, 2.0, 9.0, None]
    assert output.got == [LABELS]
    assert patient.said[0] == "The labels did not reach a destination, and will be sent again soon: disk full"


def test_what_waiting_cannot_change_is_tried_again_only_every_few_minutes() -> None:
    output = Moody(*(status(code) for code in (422, 403, 422, 403, 422)))
    patient = Patient(output)
    assert [patient.publish() for _ in range(6)] == [40.0, 80.0, 160.0, 300.0, 300.0, None]
    assert patient.said[0] == (
        "The labels did not reach a destination, and will be sent again every few minutes: status 422"
    )


def test_whatever_asks_for_it_nothing_is_sent_before_the_pause_is_over() -> None:
    output = Moody(status(422))
    patient = Patient(output)
    patient.publish()
    patient.time -= 10.0
    assert patient.publisher.publish(LABELS) == 10.0
    assert output.asked == 1


def test_a_success_forgets_the_failures() -> None:
    output = Moody(status(503), status(503))
    patient = Patient(output)
    assert [patient.publish() for _ in range(3)] == [1.0, 2.0, None]
    output.failures.append(status(503))
    assert patient.publish() == 1.0


def test_a_token_refused_once_may_have_been_replaced_meanwhile() -> None:
    patient = Patient(Moody(refused()))
    assert [patient.publish(), patient.publish()] == [1.0, None]


def test_a_token_refused_twice_ends_the_program() -> None:
    patient = Patient(Moody(refused(), refused()))
    patient.publish()
    with pytest.raises(UnauthorizedError):
        patient.publish()


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
        pytest.param((status(422),), ApiError, id="nor what can never be stored"),
        pytest.param((status(503),) * 5, ApiError, id="five failures are too many"),
    ],
)
def test_one_shot_fails(failures: tuple[SuiteError, ...], expected: type[SuiteError]) -> None:
    with pytest.raises(expected):
        publish_once(Moody(*failures), LABELS, backoff=backoff(), sleep=lambda _: None)
