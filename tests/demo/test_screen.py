from __future__ import annotations

import io

from rich.console import Console

from gpu_demo.screen import Screen


def shown(*, terminal: bool) -> str:
    """Show a bit of everything and return what came out."""
    out = io.StringIO()
    console = Console(file=out, width=60, highlight=False)
    if terminal:
        console = Console(file=out, width=60, highlight=False, force_terminal=True, color_system="standard")
    screen = Screen(console, steps=2)
    screen.title("Title", "what it is")
    screen.step("First", "a hint")
    screen.command("gfd --oneshot")
    with screen.waiting("waiting"):
        screen.say("a line that is longer than the console is wide, and stays one line all the same")
    screen.table(("device", "health"), [("GPU-0", "Healthy"), ("GPU-1", "Unhealthy")])
    screen.block("one\n\ntwo\n")
    screen.step("Second")
    screen.done("all is well")
    return out.getvalue()


PLAIN = """\
Title
what it is

1/2  First
a hint
$ gfd --oneshot
a line that is longer than the console is wide, and stays one line all the same
+--------+-----------+
| device | health    |
+--------+-----------+
| GPU-0  | Healthy   |
| GPU-1  | Unhealthy |
+--------+-----------+
  one

  two

2/2  Second
ok  all is well
"""


def test_a_pipe_gets_plain_text() -> None:
    assert shown(terminal=False) == PLAIN


def test_a_terminal_gets_colours() -> None:
    text = shown(terminal=True)
    assert "\x1b[32mHealthy" in text
    assert "\x1b[1;31mUnhealthy" in text
