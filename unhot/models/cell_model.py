"""What models of co-occurrence cells share: how these are counted, or taken as they are."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import SIDES, WEIGHTS, cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.sources import Source
from unhot.errors import ConfigError, DataError, at_least, bytes_of, one_of
from unhot.models.model import Note, Reading, Telling, TextModel, opened
from unhot.vocab.vocabulary import Vocabulary

COUNTED = ("window", "weights", "sides", "sample")  # settings that cells bring with them
Counting = Callable[[int, int], None]


@dataclasses.dataclass(kw_only=True)
class CellModel(TextModel):
    """Settings of a model that learns from cells."""

    window: int = 10  # words to each side of a centre
    # what a word at distance d counts: distance (1 / d) | flat (1) | dynamic ((window - d + 1) / window)
    weights: str = "distance"
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
        """The cells of a text; or those that are given, by themselves or as the folder they are in.

        Then their settings are taken, too.
        """
        source = opened(source)
        if isinstance(source, (Corpus, Cells)) and any(
            given is not None for given in (counts, column, phrases)
        ):
            raise ConfigError("counts, column or phrases with text that is encoded already: leave them out")
        if isinstance(source, Cells):
            cells = some_cells(source)
            take_settings(
                self, {name: cells.settings[name] for name in COUNTED if name in cells.settings}, told.say
            )
            self.warm_up()
            yield cells
            return
        reads = {
            "counts": counts,
            "column": column,
            "phrases": phrases,
            "progress": reading,
            "directory": directory,
        }
        with self.reading(source, told.say, reads) as corpus:
            how = {name: getattr(self, name) for name in (*COUNTED, "seed", "threads", "memory")}
            with count_cells(corpus, how, told.say, counting, directory) as cells:
                yield cells


@contextlib.contextmanager
def count_cells(
    corpus: Corpus,
    how: Mapping[str, Any],
    say: Note,
    counting: Counting | None,
    directory: str | os.PathLike[str] | None,
) -> Iterator[Cells]:
    """Count the cells of a text; they are kept in the folder `cells` of a directory, if one is given."""
    began = time.perf_counter()
    kept = None if directory is None else Path(directory) / "cells"
    with cooccurrences(corpus, **how, directory=kept, progress=counting) as cells:
        say(
            f"{len(cells):,} cells of {len(corpus.vocabulary):,} words, counted in "
            f"{time.perf_counter() - began:.1f} s"
        )
        yield some_cells(cells)


def take_settings(model: TextModel, theirs: Mapping[str, Any], say: Note) -> None:
    """Take the settings that cells were counted with in place of the model's own."""
    own = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    try:
        checked = type(model)(**{**own, **theirs})
    except ConfigError as error:
        raise DataError(f"cells that were counted with settings that there are not: {error}") from error
    for name in theirs:
        value = getattr(checked, name)
        if value != own[name]:
            say(f"{name}={value!r}: as the cells were counted, not {own[name]!r}")
            setattr(model, name, value)


def some_cells(cells: Cells) -> Cells:
    """The same, if there is something to learn from them; a `DataError` otherwise."""
    if cells.starts.size != len(cells.vocabulary) + 1:
        raise DataError("these cells were closed: open or count them again")
    if not len(cells):
        raise DataError(
            "no two words stand near each other: there is nothing to learn; lower min_count, join lines, or "
            "set sample=0"
        )
    return cells
