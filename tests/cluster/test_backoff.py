"""How long requests wait after failures, by whether waiting can change them."""

from __future__ import annotations

from gpu_cluster.errors import ApiError, Backoff


def test_what_waiting_cannot_change_is_asked_again_only_every_few_minutes() -> None:
    backoff = Backoff(chance=lambda: 1.0)
    forbidden = ApiError("no", status=403)
    assert [backoff.after(forbidden) for _ in range(6)] == [32.0, 64.0, 128.0, 256.0, 300.0, 300.0]
    assert backoff.after(ApiError("busy", status=503)) == 0.8
    backoff.reset()
    assert backoff.after(forbidden) == 32.0


def test_what_passes_is_asked_again_as_before() -> None:
    backoff = Backoff(chance=lambda: 0.0, first=1.0)
    failures = [OSError("disk full"), ApiError("busy", status=503), ApiError("busy", status=429, retry_after=7.0)]
    assert [backoff.after(error) for error in failures] == [0.5, 1.0, 8.0]
