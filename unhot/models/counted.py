"""Counting the pairs that a model is trained on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.corpus.counted import CountedCorpus
from unhot.errors import DataError
from unhot.train.on_cells import check_values

if TYPE_CHECKING:
    from unhot.models.skipgram import SkipGram

MOST_WORDS = 10_000  # unless max_vocab says otherwise: every epoch computes a score for each pair of them


@contextlib.contextmanager
def counted_text(model: SkipGram, corpus: Corpus, say: Callable[[str], None]) -> Iterator[CountedCorpus]:
    """A text, with its pairs counted."""
    _check_words(model, len(corpus.vocabulary))
    weights = "dynamic" if model.shrink else "flat"
    settings: dict[str, Any] = {"window": model.window, "sample": model.sample, "seed": model.seed, "threads": model.threads}
    with cooccurrences(corpus, weights=weights, sides="both", **settings) as cells:
        say(f"{cells.row_sums().sum():,.0f} pairs in {len(cells):,} cells of {len(corpus.vocabulary):,} words")
        yield CountedCorpus(cells, corpus.shards, corpus.report)


def counted_cells(model: SkipGram, cells: Cells) -> CountedCorpus:
    """Cells that are there already."""
    _check_words(model, len(cells.vocabulary))
    check_values(cells)
    return CountedCorpus.from_cells(cells)


def _check_words(model: SkipGram, words: int) -> None:
    most = model.max_vocab or MOST_WORDS
    if words > most:
        raise DataError(
            f"{words:,} words, on='cells': every epoch computes a score for each pair of words, so at most {most:,} are taken: set "
            f"max_vocab={MOST_WORDS} (--max-vocab {MOST_WORDS}) when the text is encoded; a higher one, too, if you have the time"
        )
    if not words:
        raise DataError("cells without a word: there is nothing to learn; give more text, or a lower min_count")
