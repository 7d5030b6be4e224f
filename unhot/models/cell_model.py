"""Models that learn from co-occurrence cells, which they count in a text or are given.

A cell is the weighted count of how often a word has another word near it.
"""

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError
from unhot.models.fitting import Reads, Tells
from unhot.models.model import L, Model
from unhot.models.settings import Range
from unhot.models.text_model import TextModel
from unhot.models.vector_model import VectorModel
from unhot.sizes import bytes_of

COUNTED = ("window", "weights", "sides", "sample")  # settings that are saved with the cells


@dataclasses.dataclass(kw_only=True)
class CellModel(TextModel[L], VectorModel[L]):
    """Settings of a model that learns from cells."""

    window: Annotated[int, Range(1, 10_000)] = 10  # words on each side of the centre word
    # weight of a word at distance d: 1 / d (distance), 1 (flat), or (window - d + 1) / window (dynamic)
    weights: Literal["distance", "flat", "dynamic"] = "distance"
    sides: Literal["both", "left", "right"] = "both"  # on which sides of a word its neighbours count
    sample: Annotated[float, Range(0)] = 0.0  # threshold of sub-sampling frequent words; 0 turns it off
    memory: str | int = "1GB"  # memory for the buffers that cells are counted in, such as 200MB
    seed: Annotated[int, Range(0, 2**64 - 1)] = 1  # seed of all random numbers

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        bytes_of("memory", self.memory)

    @contextlib.contextmanager
    def open_input(self, reads: Reads, tells: Tells) -> Iterator[Cells]:
        """Count the cells of a text, or take given cells and the settings that they were counted with."""
        if isinstance(reads.source, Cells):
            cells = some_cells(reads.source)
            theirs = {name: cells.settings[name] for name in COUNTED if name in cells.settings}
            take_settings(self, theirs, tells)
            self.warm_up()
            yield cells
            return
        with self.open_text(reads, tells) as corpus:
            how = {name: getattr(self, name) for name in (*COUNTED, "seed", "threads", "memory")}
            with count_cells(corpus, how, reads.directory, tells) as cells:
                yield cells


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


def take_settings(model: Model[Any], theirs: Mapping[str, Any], tells: Tells) -> None:
    """Replace the model's settings by those that the cells were counted with, and say so."""
    own = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    try:
        checked = type(model)(**{**own, **theirs})
    except ConfigError as error:
        raise DataError(f"the cells were counted with a setting that the model refuses: {error}") from error
    for name in theirs:
        value = getattr(checked, name)
        if value != own[name]:
            tells.say(f"{name}={value!r}: the cells were counted with it, not with {own[name]!r}")
            setattr(model, name, value)


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
