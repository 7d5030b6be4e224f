"""What models of co-occurrence cells share: how these are counted, or opened."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from unhot.corpus.cells import INDEX, Cells
from unhot.corpus.cooccurrence import SIDES, WEIGHTS, bytes_of, cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.corpus.inputs import Source
from unhot.corpus.phrases import Phrases
from unhot.errors import ConfigError, DataError, at_least, one_of
from unhot.models.base import Reading, Telling, TextModel
from unhot.vocab.vocabulary import Vocabulary

COUNTED = ("window", "weights", "sides", "sample")  # settings that cells bring with them
Counting = Callable[[int, int], None]


@dataclasses.dataclass(kw_only=True)
class CellModel(TextModel):
    """Settings of a model that learns from cells."""

    window: int = 10  # words to each side of a centre
    weights: str = "distance"  # what a word at distance d counts: distance (1 / d) | flat (1) | dynamic ((window - d + 1) / window)
    sides: str = "both"  # both | left | right
    sample: float = 0.0  # threshold of sub-sampling; 0: none
    memory: int | str = "1GB"  # for counting

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        one_of("weights", self.weights, WEIGHTS)
        one_of("sides", self.sides, SIDES)
        self.sample = at_least("sample", self.sample, 0)
        bytes_of("memory", self.memory)

    @contextlib.contextmanager
    def counting(
        self,
        source: Source | Corpus | Cells,
        told: Telling,
        *,
        counts: Mapping[str, int] | Vocabulary | None = None,
        column: str | None = None,
        phrases: Phrases | None = None,
        reading: Reading | None = None,
        counting: Counting | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Iterator[Cells]:
        """The cells of a text; or those that are given, by themselves or as the folder they are in: then their settings are taken, too."""
        given = open_cells(source)
        if isinstance(source, Corpus) or given is not None:
            if counts is not None or column is not None or phrases is not None:
                raise ConfigError("counts, column or phrases with text that is encoded already: leave them out")
        if given is not None:
            self._take_settings(given, told)
            self.warm_up()
            with given if given is not source else contextlib.nullcontext():
                yield _some(given)
            return
        reads = {"counts": counts, "column": column, "phrases": phrases, "progress": reading, "directory": directory}
        assert not isinstance(source, Cells)
        with self.reading(source, told.say, reads) as corpus:
            began = time.perf_counter()
            how = {name: getattr(self, name) for name in (*COUNTED, "seed", "threads", "memory")}
            kept = None if directory is None else Path(directory) / "cells"
            with cooccurrences(corpus, **how, directory=kept, progress=counting) as cells:
                told.say(f"{len(cells):,} cells of {len(corpus.vocabulary):,} words, counted in {time.perf_counter() - began:.1f} s")
                yield _some(cells)

    def _take_settings(self, cells: Cells, told: Telling) -> None:
        for name in COUNTED:
            value = cells.settings.get(name, getattr(self, name))
            if value != getattr(self, name):
                told.say(f"{name}={value!r}: as the cells were counted, not {getattr(self, name)!r}")
                setattr(self, name, value)


def open_cells(source: object) -> Cells | None:
    """Cells that a source is, or the folder of some; None if it is text."""
    if isinstance(source, Cells):
        return source
    if isinstance(source, (str, os.PathLike)) and (Path(source) / INDEX).is_file():
        return Cells.open(source)
    return None


def _some(cells: Cells) -> Cells:
    if not len(cells):
        raise DataError("no two words stand near each other: there is nothing to learn; lower min_count, or join lines")
    return cells
