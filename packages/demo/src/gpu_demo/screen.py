"""What the demo shows: colours, tables and progress on a terminal, plain text everywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# A pipe or a file has no width of its own; this is wide enough for every table.
PLAIN_WIDTH = 120


class Screen:
    """A console and the number of the step that is shown."""

    def __init__(self, console: Console, *, steps: int) -> None:
        self._console = console
        self._steps = steps
        self._step = 0

    @classmethod
    def on_stdout(cls, *, steps: int) -> Screen:
        """Return a screen on standard output, whatever that is."""
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=PLAIN_WIDTH)
        return cls(console, steps=steps)

    def title(self, text: str, below: str) -> None:
        """Show what this is all about."""
        self._console.print(Text(text, style="bold green"))
        self._console.print(below)

    def step(self, title: str, *lines: str) -> None:
        """Begin the next step, with a few lines on what it shows."""
        self._step += 1
        self._console.print()
        self._console.print(Text(f"{self._step}/{self._steps}  {title}", style="bold cyan"))
        for line in lines:
            self._console.print(Text(line, style="dim"))

    def command(self, line: str) -> None:
        """Show a command as somebody would type it, one argument on each line when it is long."""
        if len(line) > self._console.width - 2:
            line = line.replace(" --", " \\\n    --")
        self._console.print(Text(f"$ {line}", style="yellow"), soft_wrap=True)

    def say(self, line: str) -> None:
        """Show one line of text."""
        self._console.print(Text(line), soft_wrap=True)

    def done(self, line: str) -> None:
        """Show that something came out as it should."""
        self._console.print(Text.assemble(("ok  ", "bold green"), line), soft_wrap=True)

    def block(self, text: str) -> None:
        """Show a program's output as it is."""
        for line in text.rstrip("\n").split("\n"):
            self._console.print(Text(f"  {line}".rstrip()), soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table; words that say how a device fares are coloured."""
        fancy = self._console.is_terminal
        table = Table(box=box.SIMPLE_HEAD if fancy else box.ASCII2, header_style="bold", pad_edge=True)
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
        self._console.print(table)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show on a terminal that the demo waits for something."""
        if not self._console.is_terminal:
            yield
            return
        with self._console.status(what):
            yield


STYLES = {"Healthy": "green", "Unhealthy": "bold red"}
