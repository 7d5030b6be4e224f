"""The progress of a training, for people: a bar on a terminal or in a notebook, elsewhere a line an epoch."""

from __future__ import annotations

from unhot.screen.notebook import NotebookBar, in_notebook
from unhot.train.history import UNITS
from unhot.train.progress import Progress


class TrainingBar:
    """Shows the progress of reading, counting and training; it is a callback of `fit`."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Make the bar; `quiet` shows nothing."""
        from unhot.screen.console import Bar

        self._quiet = quiet
        behind = "{task.percentage:>3.0f}%  {task.fields[text]}"
        self._bar: Bar | NotebookBar = (
            NotebookBar()
            if in_notebook() and not quiet
            else Bar("{task.description:<10}", behind, quiet=quiet)
        )
        self.unit = "words"  # the unit of progress

    def __enter__(self) -> TrainingBar:
        """Start drawing."""
        self._bar.start()
        self._bar.show("reading", 0, None, "")
        return self

    def __exit__(self, *stopped: object) -> None:
        """Stop drawing."""
        self.stop()

    def stop(self) -> None:
        """Stop drawing; the bar stays as it is."""
        self._bar.stop()

    def note(self, line: str) -> None:
        """Print a line beside the bar."""
        if not self._quiet:
            self._bar.say(line)

    def reading(self, done: int, total: int | None) -> None:
        """Show how many bytes are read."""
        self._bar.show("reading", done, total, f"{done / 1e6:,.0f} MB")

    def counting(self, done: int, total: int) -> None:
        """Show how many rows are counted."""
        self._bar.show("counting", done, total, "")

    def __call__(self, progress: Progress) -> None:
        """Show how much is trained."""
        if progress.event == "progress" and not self._bar.drawn:
            return
        self.unit = next((unit for unit in UNITS if unit in progress.details), self.unit)
        loss = "" if progress.loss is None else f"  loss {progress.loss:.4f}"
        left = "" if progress.seconds_left is None else f"  {progress.seconds_left:,.0f} s left"
        speed = f"{progress.words_per_second:,.0f} {self.unit}/s"
        epoch = f"epoch {min(max(progress.epoch, 1), progress.epochs)}/{progress.epochs}"
        behind = f"{speed}{loss}  lr {progress.lr:.4f}{left}"
        self._bar.show(epoch, progress.words, progress.total_words, behind)
        if progress.event == "epoch" and not self._bar.drawn:
            self.note(f"epoch {progress.epoch}/{progress.epochs}: loss {progress.loss:.4f}, {speed}")
