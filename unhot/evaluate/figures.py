"""The bases of all evaluation results, which can be turned into plain data for JSON."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from unhot.evaluate.bootstrap import LEVEL, RESAMPLES
from unhot.json_file import plain
from unhot.probability.calibration import share as share

# called now and then with what is done, the work done and its total (None: not known)
Progress: TypeAlias = Callable[[str, int, int | None], None]


class Figures:
    """A result: a dataclass of figures, and of the settings with which they were measured."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; a number that is not finite is None, because JSON does not have it."""
        return dict(plain(self))


@dataclass(frozen=True, kw_only=True)
class FiguresWithIntervals(Figures):
    """Figures with intervals by the bootstrap, and how these were drawn."""

    seed: int
    resamples: int = RESAMPLES
    level: float = LEVEL


@dataclass(frozen=True, kw_only=True)
class WordFigures(FiguresWithIntervals):
    """Figures of the questions in a file, and which words counted as known."""

    file: str
    restrict_vocab: int | None
    case: str
