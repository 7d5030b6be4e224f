"""Tables and progress bars: rich's console and bars, with all text escaped on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.segment import Segment

from unhot.screen.terminal import escape_terminals, printable_lines, silence, terminal_of


class Screen(Console):
    """A console on standard output or standard error.

    On a terminal, colours and cursor moves are rich's own. Those that are part of the text become escapes.
    Text is shown as it is: [red] is no colour and :dog: no picture.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        """Write to standard error, or to standard output."""
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=terminal_of(stream), markup=False, emoji=False, highlight=False)
        self._optional = stderr

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object; escape its text, but not rich's own codes."""
        for text, style, control in super().render(renderable, options):
            shown = printable_lines(text) if self.is_terminal and not control else text
            yield Segment(shown, style, control)

    def on_broken_pipe(self) -> None:
        """Go on in silence if the reader of notes has gone; `main` handles that of results."""
        if not self._optional:
            raise
        silence(self.file)


class Bar(Progress):
    """A progress bar on standard error, with a text on each side; without a terminal nothing is drawn."""

    def __init__(self, before: str, behind: str, *, quiet: bool = False, transient: bool = False) -> None:
        """Make the bar; see `TextColumn` for the texts, with the field `text`."""
        screen = Screen(stderr=True)
        super().__init__(
            TextColumn(before, markup=False),
            BarColumn(bar_width=30),
            TextColumn(behind, markup=False),
            console=screen,
            disable=quiet or not screen.is_terminal,
            transient=transient,
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
        )

        self.drawn = screen.is_terminal and not quiet

    def start(self) -> None:
        """Start drawing; rich shows other output above the bar and reads colours in it: escape it first."""
        super().start()
        if self.drawn:
            escape_terminals()

    def show(self, before: str, done: int, total: int | None, behind: str = "") -> None:
        """Show how much is done, as the only task of the bar."""
        if not self.tasks:
            self.add_task(before, total=None, text="")
        self.update(self.task_ids[0], description=before, completed=done, total=total, text=behind)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.console.print(printable_lines(line), soft_wrap=True)
