from __future__ import annotations

from config_manager.agenda import Agenda, earliest


def test_changes_before_the_label_is_known_lead_to_no_look() -> None:
    agenda = Agenda()
    agenda.changed(1.0)
    assert not agenda.due(1e9)


def test_a_label_known_for_the_first_time_is_acted_on_at_once() -> None:
    agenda = Agenda()
    agenda.asked(5.0)
    assert agenda.due(5.0)


def test_changes_within_a_moment_lead_to_one_look_that_they_cannot_put_off() -> None:
    agenda = Agenda(settle=0.3, known=True, look_at=100.0)
    for moment in (1.0, 1.2, 1.29):
        agenda.changed(moment)
    assert not agenda.due(1.29)
    assert agenda.due(1.3)


def test_after_a_look_there_is_nothing_to_do_until_something_changes() -> None:
    agenda = Agenda(settle=0.3)
    agenda.asked(10.0)
    agenda.looked(10.0, failed=False)
    assert not agenda.due(1e9)
    agenda.changed(20.0)
    assert (agenda.due(20.0), agenda.due(20.3)) == (False, True)


def test_looks_in_vain_come_by_themselves_later_each_time() -> None:
    agenda = Agenda(known=True)
    now, pauses = 0.0, []
    for _ in range(9):
        agenda.looked(now, failed=True)
        assert agenda.look_at is not None
        pauses.append(agenda.look_at - now)
        now = agenda.look_at
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def test_pauses_begin_anew_after_a_look_that_was_not_in_vain() -> None:
    agenda = Agenda(known=True, failures=7)
    agenda.looked(100.0, failed=False)
    agenda.looked(200.0, failed=True)
    assert agenda.look_at == 201.0


def test_a_directory_that_is_busy_brings_no_look_within_the_rest_after_one_in_vain() -> None:
    agenda = Agenda(settle=0.25, known=True)
    looks, now = [], 0.0
    while now < 30.0:
        agenda.changed(now)
        if agenda.due(now):
            agenda.looked(now, failed=True)
            looks.append(now)
        now += 0.25
    assert looks == [0.25, 1.25, 3.25, 7.25, 12.25, 17.25, 22.25, 27.25]


def test_another_label_is_acted_on_at_once_however_much_failed_before() -> None:
    agenda = Agenda(settle=0.3, known=True, failures=8)
    agenda.looked(100.0, failed=True)
    agenda.asked(101.0)
    assert (agenda.due(101.2), agenda.due(101.3)) == (False, True)
    agenda.looked(101.3, failed=True)
    assert agenda.look_at == 102.3


def test_the_earliest_of_several_times() -> None:
    assert earliest(10.0, None, 12.0, 11.0) == 1.0
    assert earliest(10.0, 9.0) == 0.0
    assert earliest(10.0, None) is None
