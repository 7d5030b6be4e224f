"""Turn raw text into memory-mapped ids, and count which words stand near each other (cells)."""

from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.corpus.cells import Cells
    from unhot.corpus.cooccurrence import cooccurrences
    from unhot.corpus.corpus import Corpus
    from unhot.corpus.encoding import encode
    from unhot.corpus.glove_cells import read_glove_cells, write_glove_cells
    from unhot.corpus.pairing import corpus_pairs, pairs
    from unhot.corpus.phrases import Phrases
    from unhot.corpus.reading.sources import Column
    from unhot.vocab.subsampling import keep_probability, rank_keep_probability

__all__ = [
    "Cells",
    "Column",
    "Corpus",
    "Phrases",
    "cooccurrences",
    "corpus_pairs",
    "encode",
    "keep_probability",
    "pairs",
    "rank_keep_probability",
    "read_glove_cells",
    "write_glove_cells",
]

_HOMES = {
    "Cells": "unhot.corpus.cells",
    "Column": "unhot.corpus.reading.sources",
    "Corpus": "unhot.corpus.corpus",
    "Phrases": "unhot.corpus.phrases",
    "cooccurrences": "unhot.corpus.cooccurrence",
    "corpus_pairs": "unhot.corpus.pairing",
    "encode": "unhot.corpus.encoding",
    "keep_probability": "unhot.vocab.subsampling",
    "pairs": "unhot.corpus.pairing",
    "rank_keep_probability": "unhot.vocab.subsampling",
    "read_glove_cells": "unhot.corpus.glove_cells",
    "write_glove_cells": "unhot.corpus.glove_cells",
}

__getattr__ = lazy_names(__name__, _HOMES)
