"""What every test relies on: how hard Hypothesis searches, which signals count, and a directory for sockets."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no failure, so nothing has a deadline, neither a test nor the making of its data; the same examples
# in every run make a failure repeatable.
settings.register_profile(
    "tests", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("tests")

LONGEST_PLACE = 40
"""Bytes of the path of a directory for sockets, so that there is room for what tests make in it."""


@pytest.fixture(scope="session", autouse=True)
def signals() -> None:
    """Start programs with the signals that they have in a terminal, also where ours are ignored.

    `nohup` ignores SIGHUP, and a shell that puts `make test &` into the background SIGINT and SIGQUIT; programs inherit
    that. What has a handler is not inherited, and a handler that does nothing ignores the signal here as well as ever.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


@pytest.fixture
def socket_dir() -> Iterator[Path]:
    """Give a directory with a short path: Unix sockets have room for 107 bytes, and `tmp_path` may use them up.

    So may a TMPDIR, as that of a CI system which works in a deep directory.
    """
    place = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix="gpu-", dir=place if len(place) <= LONGEST_PLACE else "/tmp") as directory:
        yield Path(directory)
