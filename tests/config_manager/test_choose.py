from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config_manager.choose import Choice, Chosen, ChosenEmpty, NotChosen, Rules, choose
from gpu_core.config.words import FallbackStrategy

LABEL = "nvidia.com/device-plugin.config"
NAMED, SINGLE, EMPTY = FallbackStrategy.NAMED, FallbackStrategy.SINGLE, FallbackStrategy.EMPTY


def rules(*fallbacks: FallbackStrategy, default: str = "") -> Rules:
    return Rules(label=LABEL, default=default, fallbacks=fallbacks)


@pytest.mark.parametrize(
    ("label", "names", "given_rules", "expected"),
    [
        pytest.param(
            "a",
            ["a", "b"],
            rules(default="b"),
            Chosen(name="a", why=f"the node's label {LABEL} names it"),
            id="the label wins over the default",
        ),
        pytest.param(
            None,
            ["a", "b"],
            rules(NAMED, default="b"),
            Chosen(name="b", why="the default config names it"),
            id="without a label the default wins over the fallbacks",
        ),
        pytest.param(
            "",
            ["a", "b"],
            rules(default="b"),
            Chosen(name="b", why="the default config names it"),
            id="an empty label counts as none",
        ),
        pytest.param(
            "c",
            ["a", "b"],
            rules(default="b"),
            NotChosen(
                problem=f"There is no config 'c', which the node's label {LABEL} names. "
                "Add the file or change the label. Files: a, b."
            ),
            id="a label that names no file does not fall back to the default",
        ),
        pytest.param(
            None,
            ["b", "a"],
            rules(EMPTY, default="c"),
            NotChosen(
                problem="There is no config 'c', which the default config names. "
                "Add the file or change the default. Files: a, b."
            ),
            id="a default that names no file does not fall back",
        ),
        pytest.param(
            None,
            ["a", "default"],
            rules(NAMED, SINGLE, EMPTY),
            Chosen(name="default", why="it has the name that nodes without a label fall back to"),
            id="named takes the file called default",
        ),
        pytest.param(
            None,
            ["a"],
            rules(NAMED, SINGLE, EMPTY),
            Chosen(name="a", why="it is the only config there is"),
            id="single takes the only file",
        ),
        pytest.param(
            None,
            ["default", "a"],
            rules(EMPTY, NAMED),
            ChosenEmpty(why="there is neither a label nor a default"),
            id="the order of the fallbacks decides",
        ),
        pytest.param(
            None,
            ["a", "b"],
            rules(NAMED, SINGLE, EMPTY),
            ChosenEmpty(why="there is neither a label nor a default"),
            id="empty is the last resort",
        ),
        pytest.param(
            None,
            ["b", "a"],
            rules(SINGLE, NAMED),
            NotChosen(
                problem=f"The node has no label {LABEL}, there is no default config, and no fallback applies: "
                "single (there are 2 files: a, b), named (there is no file 'default'). "
                "Label the node with one of: a, b."
            ),
            id="all fallbacks fail",
        ),
        pytest.param(
            None,
            ["a"],
            rules(),
            NotChosen(
                problem=f"The node has no label {LABEL}, there is no default config, and no fallbacks are "
                "configured. Label the node with one of: a."
            ),
            id="no fallbacks",
        ),
        pytest.param(
            None,
            [],
            rules(EMPTY),
            NotChosen(problem="The config directory has no config files. Check that the ConfigMap is mounted there."),
            id="without any file not even the empty config is chosen, as in the original",
        ),
    ],
)
def test_which_config_a_node_gets(label: str | None, names: list[str], given_rules: Rules, expected: Choice) -> None:
    assert choose(label, names, given_rules) == expected


@given(
    label=st.none() | st.text(max_size=3),
    names=st.lists(st.text(min_size=1, max_size=3), max_size=4),
    default=st.text(max_size=3),
    fallbacks=st.lists(st.sampled_from(FallbackStrategy), max_size=4),
)
def test_what_is_chosen_is_always_there_and_does_not_depend_on_the_order_of_names(
    label: str | None, names: list[str], default: str, fallbacks: list[FallbackStrategy]
) -> None:
    given_rules = rules(*fallbacks, default=default)
    choice = choose(label, names, given_rules)
    assert choice == choose(label, sorted(names, reverse=True), given_rules)
    if isinstance(choice, Chosen):
        assert choice.name in names
        assert not label or choice.name == label
