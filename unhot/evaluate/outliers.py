"""Outlier detection: measure how often vectors tell which word does not belong to the others.

A set has words that belong together, and outliers. A question is the words of a set and one outlier, W, with
s(w) = sum over the other words v in W of cos(w, v):

    compactness of w   the mean cosine of all pairs in W without w = (sum over v in W of s(v) - 2 s(w)) /
                       ((|W| - 1)(|W| - 2))
    position           how many words are less compact than the outlier: 0 .. |W| - 1; the outlier is found if
                       all other words are
    accuracy           share of the questions whose outlier is found
    OPP                mean of position / (|W| - 1): outlier position percentage, here from 0 to 1

A word that is exactly as compact as the outlier does not count as less compact, because vectors that cannot
tell them apart have not found the outlier.

A file is one set, as in the data set 8-8-8: one word per line, a blank line, one outlier per line. A folder
is a data set of all files below it. An unknown word is removed from its set. Questions with an unknown
outlier, or from a set of fewer than two known words, are left out and counted. The intervals are bootstraps
over questions.

Reference: Camacho-Collados and Navigli 2016.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError, whole
from unhot.evaluate.figures import Interval, WordFigures, mean_interval, share
from unhot.evaluate.files import File, numbered_lines, question_files, wrong_line
from unhot.evaluate.lookup import Lookup
from unhot.types import Doubles
from unhot.vectors.store import Vectors

ROUNDING = 1e-12  # sums of cosines that differ by less than this count as equal
TWO_LISTS = "words that belong together, one per line, then a blank line, then outliers, one per line"


class Group(NamedTuple):
    """The set of words and outliers in a file."""

    name: str
    words: list[str]
    outliers: list[str]


@dataclass(frozen=True, kw_only=True)
class OutlierSet:
    """Results for the questions of one set, or of all sets."""

    name: str
    questions: int
    unknown: int  # questions that were left out
    unknown_words: int  # words that were removed from their sets
    found: int
    accuracy_interval: Interval
    opp: float  # NaN if no question was asked
    opp_interval: Interval

    @property
    def accuracy(self) -> float:
        """The share of outliers found; NaN if no question was asked."""
        return share(self.found, self.questions - self.unknown)


@dataclass(frozen=True, kw_only=True)
class Outliers(WordFigures):
    """Accuracy and OPP by set and in total, and how they were measured."""

    sets: tuple[OutlierSet, ...]
    total: OutlierSet


def outliers(
    vectors: Vectors, source: File, *, restrict_vocab: int | None = None, case: str = "prefer", seed: int = 1
) -> Outliers:
    """Measure how often vectors find the outlier, for a file or for all files below a folder.

    restrict_vocab   only the first this many words are known; None: all
    case             exact, prefer or ignore: see `unhot.evaluate.lookup`
    seed             seed of the intervals
    """
    lookup = Lookup(vectors, restrict_vocab=restrict_vocab, case=case)
    seed = whole("seed", seed, 0, 2**64 - 1)
    groups = [read_group(path) for path in question_files(source)]
    asked = [_ask(lookup, group) for group in groups]
    sets = [
        _summary(group.name, len(group.outliers), *some, seed)
        for group, some in zip(groups, asked, strict=True)
    ]
    questions = sum(len(group.outliers) for group in groups)
    every = np.concatenate([places for places, _ in asked])
    unknown_words = sum(unknown for _, unknown in asked)
    return Outliers(
        file=os.fspath(source),
        restrict_vocab=restrict_vocab,
        case=case,
        seed=seed,
        sets=tuple(sets),
        total=_summary("total", questions, every, unknown_words, seed),
    )


def read_group(path: Path) -> Group:
    """Read the set of a file."""
    lists: list[list[str]] = [[]]
    for number, line in numbered_lines(path):
        if not line:
            lists += [[]] if lists[-1] else []
        elif len(lists) > 2:
            raise wrong_line(path, number, line, f"the end of the file: it has {TWO_LISTS}")
        else:
            lists[-1].append(line)
    words, strange = lists[0], lists[1] if len(lists) > 1 else []
    if len(words) < 2 or not strange:
        raise DataError(
            f"{path}: there are {len(words)} words and {len(strange)} outliers: "
            f"give at least two words and one outlier: {TWO_LISTS}"
        )
    return Group(path.stem, words, strange)


def _ask(lookup: Lookup, group: Group) -> tuple[Doubles, int]:
    """Return position / (|W| - 1) of every known outlier, and how many words of the set are unknown."""
    rows = [row for row in map(lookup.row, group.words) if row >= 0]
    strange = [row for row in map(lookup.row, group.outliers) if row >= 0]
    unknown = len(group.words) - len(rows)
    if len(rows) < 2 or not strange:
        return np.zeros(0), unknown
    units, others = lookup.units(np.array(rows)), lookup.units(np.array(strange))
    inside = units @ units.sum(axis=0) - 1  # [words] s(w) without the outlier; 1 is cos(w, w)
    across = others @ units.T  # [outliers, words]
    # compactness falls with s(w), so w is less compact than the outlier if s(w) > s(outlier)
    less = inside + across > across.sum(axis=1, keepdims=True) + ROUNDING
    return less.mean(axis=1), unknown


def _summary(name: str, questions: int, places: Doubles, unknown_words: int, seed: int) -> OutlierSet:
    found = places == 1.0
    return OutlierSet(
        name=name,
        questions=questions,
        unknown=questions - places.size,
        unknown_words=unknown_words,
        found=int(found.sum()),
        accuracy_interval=mean_interval(found, seed),
        opp=share(float(places.sum()), places.size),
        opp_interval=mean_interval(places, seed),
    )
