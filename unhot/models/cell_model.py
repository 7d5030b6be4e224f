"""Models that learn from co-occurrence cells, which they count in a text or are given.

A cell is the weighted count of how often a word has another word near it.
"""

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError
from unhot.models.fitting import Begins, L, Reads, Tells
from unhot.models.model import Model
from unhot.models.settings import Range, TextFields, VectorFields
from unhot.models.text_model import check_scratch, encoded, fit_text
from unhot.sizes import bytes_of
from unhot.types import Floats
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

COUNTED = ("window", "weights", "sides", "sample")  # settings that are saved with the cells


class CellData(NamedTuple):
    """Cells to learn from."""

    text: Cells
    chosen: Mapping[str, Any]  # the settings that they were counted with, if those are not the model's


class CellAnswers:
    """What a model of cells answers: its vectors."""

    def __init__(self, words: Vocabulary, vectors: Floats, word: Floats, context: Floats) -> None:
        """Take the vectors of words, and those of words as words and as contexts that they are made of."""
        self.vectors, self.word_vectors, self.context_vectors = (
            Vectors(words.words, rows, words.counts) for rows in (vectors, word, context)
        )


@dataclasses.dataclass(kw_only=True)
class CellModel(TextFields, VectorFields, Model[L, CellAnswers]):
    """Settings of a model that learns from cells."""

    window: Annotated[int, Range(1, 10_000)] = 10  # words on each side of the centre word
    # weight of a word at distance d: 1 / d (distance), 1 (flat), or (window - d + 1) / window (dynamic)
    weights: Literal["distance", "flat", "dynamic"] = "distance"
    sides: Literal["both", "left", "right"] = "both"  # on which sides of a word its neighbours count
    sample: Annotated[float, Range(0)] = 0.0  # threshold of sub-sampling frequent words; 0 turns it off
    memory: str | int = "1GB"  # memory for the buffers that cells are counted in, such as 200MB
    seed: Annotated[int, Range(0, 2**64 - 1)] = 1  # seed of all random numbers

    use = "query it with: unhot neighbors {} WORD"

    fit = fit_text

    def check(self) -> None:
        """Raise a `ConfigError` if the memory is none."""
        bytes_of("memory", self.memory)

    @contextlib.contextmanager
    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> Iterator[CellData]:
        """Count the cells of a text, or take given cells and the settings that they were counted with."""
        check_scratch(self, begins)
        if isinstance(reads.source, Cells):
            cells = some_cells(reads.source)
            theirs = {name: cells.settings[name] for name in COUNTED if name in cells.settings}
            chosen = their_settings(self, theirs, tells)
            self.warm_up()
            yield CellData(cells, chosen)
            return
        with encoded(self, reads, tells) as corpus:
            how = {name: getattr(self, name) for name in (*COUNTED, "seed", "threads", "memory")}
            with count_cells(corpus, how, reads.directory, tells) as cells:
                yield CellData(cells, {})

    @property
    def vectors(self) -> Vectors:
        """The word vectors."""
        return self.answers.vectors

    @property
    def context_vectors(self) -> Vectors:
        """The vectors of the words as contexts."""
        return self.answers.context_vectors


@contextlib.contextmanager
def count_cells(
    corpus: Corpus, how: Mapping[str, Any], directory: str | os.PathLike[str] | None, tells: Tells
) -> Iterator[Cells]:
    """Count the cells of a text, and keep them in the folder `cells` of the directory if one is given."""
    began = time.perf_counter()
    kept = None if directory is None else Path(directory) / "cells"
    with cooccurrences(corpus, **how, directory=kept, progress=tells.counting) as cells:
        seconds = time.perf_counter() - began
        tells.say(f"counted {len(cells):,} cells of {len(corpus.vocabulary):,} words in {seconds:.1f} s")
        yield some_cells(cells)


def their_settings(model: Model[Any, Any], theirs: Mapping[str, Any], tells: Tells) -> dict[str, Any]:
    """Return the settings that cells were counted with where they are not the model's, and say so."""
    own = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    try:
        checked = type(model)(**{**own, **theirs})
    except ConfigError as error:
        raise DataError(f"the cells were counted with a setting that the model refuses: {error}") from error
    chosen = {name: value for name in theirs if (value := getattr(checked, name)) != own[name]}
    for name, value in chosen.items():
        tells.say(f"{name}={value!r}: the cells were counted with it, not with {own[name]!r}")
    return chosen


def some_cells(cells: Cells) -> Cells:
    """Return the cells; raise a `DataError` if they are closed or if there are none."""
    if cells.starts.size != len(cells.vocabulary) + 1:
        raise DataError("these cells are closed: open or count them again")
    if not len(cells):
        raise DataError(
            "there is nothing to learn from: no two words stand near each other; lower min_count, join "
            "lines, or set sample=0"
        )
    return cells
