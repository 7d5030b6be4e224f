"""What `unhot bench outputs` prints while it runs: how long it takes, and what each layer came to."""

import math
import time
from types import TracebackType
from typing import Self

from unhot.bench.outputs import Status
from unhot.bench.results import Measured, Settings
from unhot.bench.timetable import Timetable
from unhot.screen.console import Bar
from unhot.screen.terminal import printable


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(41.7), duration(245)
    ('42 s', '4 min 5 s')
    """
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def plan_lines(timetable: Timetable, minutes: float, gone: float) -> list[str]:
    """Return lines that say how long a comparison takes, some seconds after it began."""
    layers = f"{timetable.layers} layer{'' if timetable.layers == 1 else 's'}"
    exact = f"the exact solution takes about {duration(timetable.exact)}, " if timetable.exact else ""
    line = (
        f"{exact}each of {layers} about {duration(timetable.each)}: {timetable.seconds:g} s of training, "
        "the rest to find its learning rate and to measure it"
    )
    about, latest = gone + timetable.about, gone + timetable.latest
    end = time.strftime("%H:%M:%S", time.localtime(time.time() + timetable.latest))
    total = f"in all about {duration(about)}, at most about {duration(latest)}, until {end}"
    short = f" ({minutes:g} minutes are too short; give more with --minutes)" if latest > 62 * minutes else ""
    return [line, f"{total}{short}"]


def result_line(measured: Measured) -> str:
    """Return the results of a layer as one line."""
    if measured.result is None:
        return f"{measured.layer}: {measured.failed}"
    speed = "" if math.isnan(measured.pairs_per_second) else f", {measured.pairs_per_second:,.0f} examples/s"
    perplexity = f"perplexity {measured.result.perplexity:,.1f}"
    return f"{measured.layer}: {perplexity}{speed}, lr {measured.lr:.3g} ({measured.engine})"


class ComparisonBar:
    """Shows a comparison: a bar on a terminal, elsewhere a line when a layer begins and when it is done."""

    def __init__(self, settings: Settings, *, quiet: bool) -> None:
        """Make the bar; `quiet` shows nothing."""
        self._minutes = math.inf if settings.seconds else settings.minutes
        self._quiet = quiet
        self._bar = Bar("{task.description}", "{task.fields[text]}", quiet=quiet, transient=True)
        self._began = self._layer_began = time.monotonic()
        self._timetable: Timetable | None = None
        self._layer = ""  # the one that is at work
        self._spent: list[float] = []  # seconds of the layers that are done, without the exact solution

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._bar.stop()

    def __call__(self, status: Status) -> None:
        """Show the state of the comparison."""
        if status.timetable is not None:
            self._timetable = status.timetable
            for line in plan_lines(status.timetable, self._minutes, time.monotonic() - self._began):
                self._say(line)
        place = f"{status.number}/{status.layers} {status.layer}"
        if status.layer != self._layer:
            self._layer, self._layer_began = status.layer, time.monotonic()
            if not self._bar.drawn:
                self._say(f"{place}: begins; about {duration(self._left(status))} left")
        at = f"{status.stage} {place}" if status.number else status.stage
        left = f"about {duration(self._left(status))} left" if status.number else ""
        self._bar.show(printable(at), max(0, status.number - 1), status.layers, left)
        if status.measured is not None:
            if status.number > status.layers - self._layers:
                self._spent.append(time.monotonic() - self._layer_began)
            self._say(result_line(status.measured))

    @property
    def _layers(self) -> int:
        return 0 if self._timetable is None else self._timetable.layers

    def _left(self, status: Status) -> float:
        """Estimate the seconds left: as long for each layer as the layers took that are done."""
        if self._timetable is None:
            return 0.0
        each = sum(self._spent) / len(self._spent) if self._spent else self._timetable.each
        layers = min(self._layers, status.layers - status.number + 1)
        exact = self._timetable.exact if status.number <= status.layers - self._layers else 0.0
        return max(0.0, exact + layers * each - (time.monotonic() - self._layer_began))

    def _say(self, line: str) -> None:
        if not self._quiet:
            self._bar.say(printable(line))
