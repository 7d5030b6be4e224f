"""The labelled rows of a training as two streams: texts, and the labels beside them.

Rows are read once. While the texts are encoded, their labels are kept as numbers, and lines that are held out
for validation or calibration are kept as they are.
"""

import heapq
import random
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, one_of
from unhot.rows.labelled import LabelledRows
from unhot.types import Ids, Starts
from unhot.vocab.vocabulary import Vocabulary

Row = tuple[str, list[str]]  # a text and its labels

SHOWN = 20  # labels of an error
KINDS: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": lambda text: text == "True"}
FEWEST, MOST = 200, 2000  # rows that are held out to calibrate; if there would be fewer, none is
MOST_CHARACTERS = 1 << 24  # of all texts that are held out, and of those that wait


class LabelledSource:
    """Rows of texts and labels, some of which are held out."""

    def __init__(self, rows: LabelledRows, validation: float, calibration: float, seed: int) -> None:
        """Take the rows, and which share of them to hold out: to validate, or else to calibrate."""
        self._rows, self._validation = rows, validation
        self._calibration, self._seed = calibration, seed
        self._names: dict[str, int] = {}
        self._labels, self._sizes = array("i"), array("i")
        self.held_out: list[Row] = []

    def texts(self) -> Iterator[str]:
        """Yield the texts to learn from, and keep their labels."""
        for text, labels in self._split((text, list(dict.fromkeys(labels))) for text, labels in self._rows):
            self._labels.extend(self._names.setdefault(label, len(self._names)) for label in labels)
            self._sizes.append(len(labels))
            yield text
        if not self._sizes:
            raise no_labels(self._rows.report.rows, len(self.held_out))

    def _split(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows to learn from, and hold out the others."""
        if self._calibration and not self._validation:
            yield from without_sample(rows, self._calibration, self._seed, self.held_out)
            return
        drawn = random.Random(self._seed)
        for row in rows:
            if self._validation and drawn.random() < self._validation:
                self.held_out.append(row)
            else:
                yield row

    def labels(self) -> Iterator[list[str]]:
        """Yield the labels of each text that was read."""
        names, at = list(self._names), 0
        for size in self._sizes:
            yield [names[i] for i in self._labels[at : at + size]]
            at += size


def without_sample(rows: Iterable[Row], share: float, seed: int, sample: list[Row]) -> Iterator[Row]:
    """Yield rows to learn from, in their order as far as possible, and put a random sample of them aside.

    Each row draws a number from 0 to 1. The rows with the smallest numbers are held out: those below `share`,
    at most MOST of them, fewer if they are long. So any row is as likely to be held out as any other, and
    what is in memory is bounded. A row whose label no other row has is never held out, so that every label is
    learned. If the sample would be small, all rows are yielded.
    """
    learned: set[str] = set()
    held: list[tuple[float, int, Row]] = []  # a heap: the largest drawn number is first
    for row in _drawn(rows, share, seed, held):
        learned.update(row[1])
        yield row
    for _, _, row in sorted(held, key=lambda entry: entry[1]):
        if learned.issuperset(row[1]):
            sample.append(row)
        else:
            learned.update(row[1])
            yield row
    if len(sample) < FEWEST or len(learned) < 2:
        yield from sample
        sample.clear()


def _drawn(rows: Iterable[Row], share: float, seed: int, held: list[tuple[float, int, Row]]) -> Iterator[Row]:
    """Yield rows, and put others into the heap `held`, if they become at least FEWEST.

    Until that is known, rows wait, unless they become too large.
    """
    waiting: list[Row] | None = []
    waited = kept = 0  # characters
    numbers = random.Random(seed)
    for number, row in enumerate(rows):
        drawn = numbers.random()
        others = [row] if drawn >= share else []
        if drawn < share:
            heapq.heappush(held, (-drawn, number, row))
            kept += len(row[0])
        while len(held) > MOST or kept > MOST_CHARACTERS:
            others.append(heapq.heappop(held)[2])
            kept -= len(others[-1][0])
        if waiting is None:
            yield from others
            continue
        waiting.append(row)
        waited += len(row[0])
        if len(held) == FEWEST or waited > MOST_CHARACTERS:
            there = {number for _, number, _ in held}
            yield from (row for number, row in enumerate(waiting) if number not in there)
            waiting = None
    if waiting is not None:
        held.clear()
        yield from waiting


def no_labels(rows: int, held_out: int = 0) -> DataError:
    """Return the error for so many rows, none of which has a label, or all of which are held out."""
    if held_out:
        return DataError(
            f"all {held_out:,} rows with a label are held out for validation: give more rows, or a smaller "
            "share"
        )
    if not rows:
        return DataError("there are no rows: the input is empty, or all its lines are blank")
    return DataError(
        f"none of the {rows:,} rows has a label: label lines look like `__label__NAME some words` "
        "(label_prefix=, or --label-prefix), tables need a column of labels (label_column=, or "
        "--label-column)"
    )


def label_kind(labels: Any) -> str:
    """Return the type of labels that came from Python: str, int, float or bool."""
    if labels is None or isinstance(labels, Iterator):
        return "str"
    cells = (each if isinstance(each, (list, tuple)) else [each] for each in islice(labels, 1000))
    first = next((label for label in chain.from_iterable(cells) if label is not None), "")
    if isinstance(first, (bool, np.bool_)):
        return "bool"
    if isinstance(first, (int, np.integer)):
        return "int"
    return "float" if isinstance(first, (float, np.floating)) else "str"


def fitting_kind(kind: str, labels: list[str]) -> str:
    """Return the type that all labels can have again: the given one, or str if some had another one."""
    one_of("label_kind", kind, tuple(KINDS))
    try:
        again = [KINDS[kind](label) for label in labels]
    except ValueError:
        return "str"
    return kind if kind == "float" or [*map(str, again)] == labels else "str"


def label_id(labels: Vocabulary, label: Any) -> int:
    """Return the number of a label; raise a `DataError` that lists the labels if there is no such label."""
    found = labels.index.get(str(label))
    if found is None:
        rest = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
        known = ", ".join(map(repr, labels.words[:SHOWN]))
        raise DataError(f"{str(label)!r} is none of the {len(labels):,} labels: they are {known}{rest}")
    return found


def all_labels(beside: Corpus) -> tuple[Vocabulary, Ids, Starts]:
    """Return the labels of a text, their numbers, and where those of each line begin."""
    numbers = [shard.ids for shard in beside.shards]
    sizes = [np.diff(shard.starts) for shard in beside.shards]
    starts = np.zeros(beside.sentences + 1, np.int64)
    np.cumsum(np.concatenate(sizes), out=starts[1:])
    ids = np.concatenate(numbers)
    ids.flags.writeable = False
    return beside.vocabulary, ids, starts


def checked_validation(given: Any) -> Any:
    """Return a share as a float; all else is a source of lines."""
    try:
        share = float(given) if isinstance(given, (int, float, str)) else None
    except ValueError:
        return given
    if share is not None and not 0 < share < 1:
        raise ConfigError(f"validation={given!r}: a share of the lines must be above 0 and below 1")
    return given if share is None else share
