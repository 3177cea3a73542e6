"""The health of GPUs whose MPS control daemons fail them."""

from __future__ import annotations

from core.health.books import HEALTHY, OFF, TWO, book_of, rules, unhealthy, xid
from gpu_core.health import what_helps
from gpu_core.health.ledger import Cause, Transition

REASON = "its MPS control daemon cannot be used: it does not answer"


def test_gpus_are_unhealthy_as_long_as_their_daemon_fails_them() -> None:
    book, transitions = book_of(TWO).after_daemons({"GPU-1": REASON}, 1)
    assert transitions == (
        Transition(uuid="GPU-1", healthy=False, cause=Cause.MPS, reason=REASON, at=1, advice=what_helps.UNSHAREABLE),
    )
    assert unhealthy(book, TWO) == ["GPU-1"]
    book, transitions = book.after_daemons({"GPU-1": "another one"}, 2)
    assert transitions == ()
    book, transitions = book.after_daemons({}, 3)
    assert [(change.uuid, change.healthy, change.reason) for change in transitions] == [
        ("GPU-1", True, "its MPS control daemon works again")
    ]
    assert unhealthy(book, TWO) == []


def test_a_gpu_that_answers_does_not_bring_its_daemon_back() -> None:
    book, _ = book_of(TWO, quiet=0).after_daemons({"GPU-0": REASON}, 1)
    book, _ = book.after_probe("GPU-0", HEALTHY, 1_000)
    assert unhealthy(book, TWO) == ["GPU-0"]


def test_a_daemon_that_works_does_not_heal_a_gpu() -> None:
    book, _ = book_of(TWO).after_event(xid(), 1)
    book, transitions = book.after_daemons({}, 2)
    assert (unhealthy(book, TWO), transitions) == (["GPU-0"], ())


def test_gpus_that_are_not_there_are_passed_over() -> None:
    assert book_of(TWO).after_daemons({"GPU-9": REASON}, 1)[1] == ()


def test_without_health_checks_daemons_make_nobody_unhealthy() -> None:
    book, _ = book_of(TWO).after_daemons({"GPU-0": REASON}, 1)
    book, _ = book.after_rules(rules(policy=OFF), 2)
    assert unhealthy(book, TWO) == []
    assert book.after_daemons({"GPU-0": REASON}, 3) == (book, ())
