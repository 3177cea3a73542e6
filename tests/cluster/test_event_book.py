"""Which Events are posted: news, repetitions, and neither where there are too many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_cluster.node.event_book import BURST, MOST_KNOWN, MOST_WAITING, REFILL, Due, EventBook
from gpu_cluster.node.event_document import News, Occurrences

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
UNHEALTHY = News(warning=True, reason="GpuUnhealthy", message="GPU 0 is unhealthy.")


def other(number: int) -> News:
    return News(warning=True, reason="GpuUnhealthy", message=f"GPU {number} is unhealthy.")


class Book:
    """An event book with a clock, and the Events that were posted."""

    def __init__(self) -> None:
        self.book = EventBook()
        self.time = 0.0
        self.posted: list[Due] = []

    def tell(self, news: News = UNHEALTHY) -> bool:
        return self.book.tell(news, START + timedelta(seconds=self.time), self.time)

    def post_all(self) -> None:
        while (due := self.book.next()) is not None:
            self.posted.append(due)
            self.book.posted(due, due.name or f"event-{len(self.posted)}")


@pytest.fixture
def book() -> Book:
    return Book()


def seen(count: int, first: float, last: float) -> Occurrences:
    return Occurrences(count=count, first=START + timedelta(seconds=first), last=START + timedelta(seconds=last))


def test_what_is_told_again_makes_the_count_of_its_event_grow(book: Book) -> None:
    for _ in range(3):
        book.tell()
        book.post_all()
        book.time += 60
    assert book.posted == [
        Due(news=UNHEALTHY, seen=seen(1, 0, 0)),
        Due(news=UNHEALTHY, seen=seen(2, 0, 60), name="event-1"),
        Due(news=UNHEALTHY, seen=seen(3, 0, 120), name="event-1"),
    ]


def test_what_is_told_again_before_it_was_posted_is_one_post(book: Book) -> None:
    for _ in range(1000):
        assert book.tell()
        book.time += 1
    book.post_all()
    assert book.posted == [Due(news=UNHEALTHY, seen=seen(1000, 0, 999))]


def test_what_is_told_again_while_it_is_posted_is_not_lost(book: Book) -> None:
    book.tell()
    due = book.book.next()
    assert due is not None
    book.time = 5
    book.tell()
    book.book.posted(due, "event-1")
    book.post_all()
    assert book.posted == [Due(news=UNHEALTHY, seen=seen(2, 0, 5), name="event-1")]


def test_an_event_that_has_expired_is_made_anew_with_its_count(book: Book) -> None:
    book.tell()
    book.post_all()
    book.time = 7200
    book.tell()
    due = book.book.next()
    assert due is not None
    book.book.expired(due)
    book.post_all()
    assert book.posted[1:] == [Due(news=UNHEALTHY, seen=seen(2, 0, 7200))]


def test_a_burst_is_posted_and_then_one_every_five_minutes(book: Book) -> None:
    told = [book.tell(other(number)) for number in range(BURST + 5)]
    assert told == [True] * BURST + [False] * 5
    book.post_all()
    book.time += REFILL
    assert [book.tell(other(100)), book.tell(other(101))] == [True, False]


def test_what_was_not_posted_is_counted_when_it_is(book: Book) -> None:
    for number in range(BURST):
        book.tell(other(number + 1))
    assert [book.tell() for _ in range(3)] == [False] * 3
    book.post_all()
    book.time += REFILL
    assert book.tell()
    book.post_all()
    assert book.posted[-1] == Due(news=UNHEALTHY, seen=seen(4, 0, REFILL))


def test_a_gpu_that_keeps_changing_leaves_its_neighbours_first_word_its_place(book: Book) -> None:
    for _ in range(1000):
        book.tell()
        book.post_all()
    assert len(book.posted) == 1 + BURST
    assert book.tell(other(1))


def test_so_many_wait_and_the_rest_is_dropped(book: Book) -> None:
    told = 0
    for number in range(MOST_WAITING * 3):
        book.time += REFILL
        told += book.tell(other(number))
    assert (told, book.book.waiting) == (MOST_WAITING, MOST_WAITING)


def test_one_that_can_never_be_posted_makes_way(book: Book) -> None:
    book.tell()
    book.tell(other(1))
    due = book.book.next()
    assert due is not None
    book.book.dropped(due)
    book.post_all()
    assert [due.news for due in book.posted] == [other(1)]


def test_memory_is_bounded_and_what_waits_is_not_forgotten(book: Book) -> None:
    book.tell()
    for number in range(MOST_KNOWN * 4):
        book.tell(other(number))
    assert len(book.book._known) == MOST_KNOWN
    due = book.book.next()
    assert due is not None
    assert due.news == UNHEALTHY


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=200))
def test_every_occurrence_of_what_is_posted_is_counted(steps: list[tuple[int, bool]]) -> None:
    book = Book()
    told = [0] * 5
    for number, post in steps:
        book.time += REFILL
        book.tell(other(number))
        told[number] += 1
        if post:
            book.post_all()
    book.post_all()
    counts = {due.news: due.seen.count for due in book.posted}
    assert counts == {other(number): count for number, count in enumerate(told) if count}
