"""What the answers of control daemons mean."""

from __future__ import annotations

import pytest

from gpu_core.mps import refusal, unanswered

NO_DAEMON = "Cannot find MPS control daemon process\n"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param((0, "", ""), None, id="silence is consent"),
        pytest.param((0, "50.0\n", ""), None, id="so is a number"),
        pytest.param((1, NO_DAEMON, ""), "Cannot find MPS control daemon process", id="what was said counts"),
        pytest.param((1, "said\n", "first\nlast.\n"), "last", id="the last line on standard error first"),
        pytest.param((-9, "", ""), "exit code -9", id="without words the exit code"),
        pytest.param(
            (0, "Error: the limit is invalid\n", ""), "Error: the limit is invalid", id="words with exit code 0"
        ),
        pytest.param(
            (0, "", "Failed to connect\n"), "Failed to connect", id="words on standard error with exit code 0"
        ),
    ],
)
def test_refusals(answer: tuple[int, str, str], expected: str | None) -> None:
    assert refusal(*answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param((0, "100.0\n", ""), None, id="a percentage is health"),
        pytest.param((0, "0\n", ""), None, id="so is the least one"),
        pytest.param((1, NO_DAEMON, ""), "it does not answer: Cannot find MPS control daemon process", id="no daemon"),
        pytest.param((0, "", ""), "it gave an answer that makes no sense: ''", id="no answer at all"),
        pytest.param((0, "100.5", ""), "it gave an answer that makes no sense: '100.5'", id="too much"),
        pytest.param((0, "nan", ""), "it gave an answer that makes no sense: 'nan'", id="no number"),
        pytest.param((0, "x" * 99, ""), f"it gave an answer that makes no sense: '{'x' * 80}'", id="a long one is cut"),
    ],
)
def test_the_health_question_is_answered_by_a_number_or_not_at_all(
    answer: tuple[int, str, str], expected: str | None
) -> None:
    assert unanswered(*answer) == expected
