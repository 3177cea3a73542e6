from __future__ import annotations

import pytest

from config_manager.plan import Found, Keep, Plan, Wish, plan

COPY = "/config/.config.yaml.last-good"
A = Wish(name="a", why="", target="/available/a", content=b"A")
TWIN = Wish(name="twin", why="", target="/available/twin", content=b"A")
NOTHING = Found(target=None, content=None)
AT_A = Found(target="/available/a", content=b"A")


@pytest.mark.parametrize(
    ("aim", "found", "used", "told", "expected"),
    [
        pytest.param(A, NOTHING, None, None, Plan(target="/available/a", signal=True), id="nothing is there yet"),
        pytest.param(A, AT_A, b"A", b"A", Plan(), id="all is as wished"),
        pytest.param(A, AT_A, None, b"A", Plan(), id="an init container set the link before the programs started"),
        pytest.param(
            A,
            Found(target="/available/b", content=b"B"),
            b"B",
            b"B",
            Plan(target="/available/a", signal=True),
            id="another config is wished",
        ),
        pytest.param(
            A,
            AT_A,
            b"old",
            b"old",
            Plan(signal=True),
            id="the content of the active config changed",
        ),
        pytest.param(
            TWIN, AT_A, b"A", b"A", Plan(target="/available/twin"), id="equal content moves the link without a signal"
        ),
        pytest.param(
            A,
            Found(target=None, content=b"A"),
            b"A",
            b"A",
            Plan(target="/available/a"),
            id="a file at the link's place becomes a link",
        ),
        pytest.param(
            A, Found(target=COPY, content=b"A"), b"A", b"A", Plan(target="/available/a"), id="the file is back"
        ),
        pytest.param(A, AT_A, b"A", b"B", Plan(signal=True), id="a signal is still owed"),
        pytest.param(Keep(problem="p"), AT_A, b"A", b"A", Plan(), id="the label is wrong and the active file is well"),
        pytest.param(
            Keep(problem="p"),
            Found(target="/available/a", content=None, copy=b"A"),
            b"A",
            b"A",
            Plan(target=COPY),
            id="the active file was removed",
        ),
        pytest.param(
            Keep(problem="p"),
            Found(target="/available/a", content=b"broken", copy=b"A"),
            b"A",
            b"A",
            Plan(target=COPY),
            id="the active file was broken in place",
        ),
        pytest.param(
            Keep(problem="p"),
            Found(target="/available/a", content=None, copy=b"older"),
            b"A",
            b"A",
            Plan(save=b"A", target=COPY),
            id="the active file was removed and the copy is older",
        ),
        pytest.param(
            Keep(problem="p"),
            Found(target=COPY, content=None),
            b"A",
            b"A",
            Plan(save=b"A"),
            id="the copy in use was removed",
        ),
        pytest.param(
            Keep(problem="p"), Found(target=COPY, content=b"A", copy=b"A"), b"A", b"A", Plan(), id="the copy is in use"
        ),
        pytest.param(Keep(problem="p"), NOTHING, None, None, Plan(), id="nothing good was ever there"),
    ],
)
def test_the_steps(aim: Wish | Keep, found: Found, used: bytes | None, told: bytes | None, expected: Plan) -> None:
    assert plan(aim, found, used=used, told=told, copy=COPY) == expected
