from __future__ import annotations

from config_manager.agenda import TRY_AGAIN, Agenda, earliest


def test_changes_before_the_label_is_known_lead_to_no_look() -> None:
    agenda = Agenda()
    agenda.changed(1.0)
    assert not agenda.due(1e9)


def test_a_label_known_for_the_first_time_is_acted_on_at_once() -> None:
    agenda = Agenda()
    agenda.label_known(5.0)
    assert agenda.due(5.0)


def test_changes_within_a_moment_lead_to_one_look_that_they_cannot_put_off() -> None:
    agenda = Agenda(settle=0.3, known=True, look_at=100.0)
    for moment in (1.0, 1.2, 1.29):
        agenda.changed(moment)
    assert not agenda.due(1.29)
    assert agenda.due(1.3)


def test_after_a_look_there_is_nothing_to_do_until_something_changes() -> None:
    agenda = Agenda(settle=0.3)
    agenda.label_known(10.0)
    agenda.looked(10.0, failed=False)
    assert not agenda.due(1e9)
    agenda.changed(20.0)
    assert (agenda.due(20.0), agenda.due(20.3)) == (False, True)


def test_after_a_look_that_failed_another_one_comes_by_itself() -> None:
    agenda = Agenda()
    agenda.looked(10.0, failed=True)
    assert (agenda.due(10.0), agenda.due(10.0 + TRY_AGAIN)) == (False, True)


def test_the_earliest_of_several_times() -> None:
    assert earliest(10.0, None, 12.0, 11.0) == 1.0
    assert earliest(10.0, 9.0) == 0.0
    assert earliest(10.0, None) is None
