from __future__ import annotations

import pytest

from gpu_cluster.errors import (
    ApiError,
    ExpiredError,
    MissingKindError,
    NotFoundError,
    UnreachableError,
    from_response,
    from_status,
)


def test_retry_after_in_the_status_counts_where_no_header_came() -> None:
    error = from_status("GET /x", {"details": {"retryAfterSeconds": 3}}, code=429)
    assert (error.status, error.reason, error.retry_after) == (429, "", 3.0)
    assert str(error) == "The API server answered GET /x with 429: no reason was given."


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        pytest.param({}, None, id="absent"),
        pytest.param({"Retry-After": " 5 "}, 5.0, id="seconds"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, None, id="a date is treated as absent"),
        pytest.param({"Retry-After": "99999999"}, 300.0, id="three years are taken for five minutes"),
        pytest.param({"Retry-After": "9" * 400}, None, id="more than a number holds"),
        pytest.param({"Retry-After": "-1"}, None, id="less than nothing"),
    ],
)
def test_the_retry_after_header(header: dict[str, str], seconds: float | None) -> None:
    assert from_response("GET /x", code=503, headers=header, body=b"").retry_after == seconds


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param("x", None, id="no number"),
        pytest.param([3], None, id="a list"),
        pytest.param(True, None, id="a switch"),
        pytest.param(10**400, 300.0, id="a number without end"),
        pytest.param(float("nan"), None, id="no number that is one"),
        pytest.param(2.5, 2.5, id="a part of a second"),
    ],
)
def test_seconds_to_wait_in_the_status(asked: object, seconds: float | None) -> None:
    error = from_status("GET /x", {"details": {"retryAfterSeconds": asked}}, code=429)
    assert error.retry_after == seconds


def test_a_message_without_end_is_cut() -> None:
    error = from_status("GET /x", {"message": "x" * 1_000_000}, code=500)
    assert str(error) == f"The API server answered GET /x with 500: {'x' * 1000}."


def test_a_page_that_is_nested_without_end_is_quoted_briefly() -> None:
    error = from_response("GET /x", code=500, headers={}, body=b"[" * 100_000)
    assert str(error) == f"The API server answered GET /x with 500: {'[' * 200}."


def test_a_proxys_page_is_quoted_briefly() -> None:
    error = from_response("GET /x", code=502, headers={}, body=b"<html>" + b"x" * 5000)
    assert type(error) is ApiError
    assert len(str(error)) < 300


def test_a_status_of_410_is_expired() -> None:
    assert type(from_status("GET /x", {"reason": "Expired"}, code=410)) is ExpiredError


def test_a_refusal_for_lack_of_rights_names_the_next_step() -> None:
    error = from_status("GET /x", {"message": "nodes is forbidden"}, code=403)
    assert str(error).endswith("403: nodes is forbidden. Check the role that is bound to the service account.")


@pytest.mark.parametrize("status", [0, 409, 410, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_within_seconds(status: int) -> None:
    error = from_status("GET /x", {}, code=status) if status else UnreachableError("no answer", status=0)
    assert (error.passing, error.lasting) == (True, False)


@pytest.mark.parametrize("status", [403, 405, 406, 413, 415, 422, 501])
def test_what_waiting_cannot_change(status: int) -> None:
    error = from_status("POST /x", {"message": "no", "details": {"name": "a"}}, code=status)
    assert (error.passing, error.lasting) == (False, True)


@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_others_may_change_at_any_time(status: int) -> None:
    error = from_status("GET /x", {"message": "no", "details": {"name": "a"}}, code=status)
    assert (error.passing, error.lasting) == (False, False)


@pytest.mark.parametrize(
    ("body", "kind", "lasting"),
    [
        pytest.param(b"404 page not found\n", MissingKindError, True, id="a path that nobody serves"),
        pytest.param(
            b'{"reason": "NotFound", "message": "the server could not find the requested resource", "details": {}}',
            MissingKindError,
            True,
            id="a status without a name",
        ),
        pytest.param(
            b'{"reason": "NotFound", "details": {"name": "a", "kind": "nodes"}}',
            NotFoundError,
            False,
            id="an object that is missing",
        ),
    ],
)
def test_a_missing_kind_is_told_from_a_missing_object(body: bytes, kind: type[ApiError], lasting: bool) -> None:
    error = from_response("GET /x", code=404, headers={}, body=body)
    assert (type(error), error.lasting) == (kind, lasting)
