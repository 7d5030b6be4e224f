"""The engine of classifiers: compiled kernels on lines with labels."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhot.kernels.bags import Bags
from unhot.models.compiled_engine import CompiledEngine, make_kernel
from unhot.models.engine import Wiring
from unhot.models.line_bags import LineBags
from unhot.models.line_feeder import LineFeeder, line_numbers
from unhot.train.hogwild import warm_up
from unhot.train.line_examples import LineExamples, line_chunks
from unhot.train.params import padded
from unhot.types import Counts, Floats, Ids, Starts

BLOCK = 1 << 16  # lines whose rows are counted at a time


@dataclass(frozen=True)
class LabelledLines:
    """The lines to learn from, as rows, and their labels."""

    lines: LineBags
    labels: Ids
    label_starts: Starts  # [lines + 1]
    label_weights: Floats  # [labels]
    words: int  # of all lines

    def feeder(self, together: bool) -> LineFeeder:
        """Return the feeder of the lines."""
        return LineFeeder(self.lines, self.labels, self.label_starts, self.label_weights, together)

    @functools.cached_property
    def rows(self) -> Counts:
        """The number of rows of each line."""
        return row_counts(self.lines)

    @property
    def most_labels(self) -> int:
        """The largest number of labels that a line has."""
        return int(np.diff(self.label_starts).max(initial=1))


def row_counts(lines: LineBags) -> Counts:
    """Return how many rows each line has; a word with several rows is one entry of its lines."""
    counts, sizes = np.diff(lines.starts), np.diff(lines.bags.starts)
    if not lines.bags.squares.size:  # the rows of all words are written out
        return counts
    for first in range(0, counts.size, BLOCK):
        starts = lines.starts[first : first + BLOCK + 1]
        entries = lines.entries[starts[0] : starts[-1]]
        rows = np.cumsum(np.where(entries < 0, sizes[-1 - np.minimum(entries, -1)], 1))
        counts[first : first + BLOCK] = np.diff(np.append(0, rows)[starts - starts[0]])
    return counts


def no_lines() -> LabelledLines:
    """Return no lines, to compile with; arrays are read-only where mapped files are."""
    ids, starts = np.zeros(1, np.int32), np.zeros(2, np.int64)
    floats = np.zeros(1, np.float32)
    mapped, weights = ids.view(), floats.view()
    mapped.flags.writeable = weights.flags.writeable = False
    lines = LineBags(mapped, weights, starts, Bags(starts, ids, floats), floats)
    return LabelledLines(lines, mapped, starts, floats, 0)


class LineEngine(CompiledEngine):
    """The engine that trains on lines with compiled kernels."""

    @classmethod
    def check(cls, model: Any, wiring: Wiring) -> None:
        """Raise a `ConfigError` unless the layer has a kernel."""
        model.layer.check_compiled()

    @classmethod
    def warm_up(cls, model: Any, wiring: Wiring) -> None:
        """Compile the training kernel, or load it from disk."""
        feeder = wiring.feeder(no_lines())
        warm_up(make_kernel(model, wiring, None), feeder, line_numbers(0), padded(model.dim))

    def examples(self, columns: int) -> LineExamples:
        """Return the lines in chunks."""
        data: Any = self.data.text
        chunks = line_chunks(data.rows.size, int(data.rows.sum()), columns)
        feeder = self._wiring.feeder(data)
        return LineExamples(feeder, line_numbers, chunks, data.words, self.model.seed)

    def most_frozen(self) -> int:
        """Return the largest number of rows that a line has."""
        return int(self.data.text.rows.max(initial=1))
