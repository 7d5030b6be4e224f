"""From raw text to memory-mapped ids."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unhot.corpus.corpus import Corpus
    from unhot.corpus.encoding import encode
    from unhot.corpus.pairing import corpus_pairs, pairs
    from unhot.vocab.subsampling import keep_probability, rank_keep_probability

__all__ = ["Corpus", "corpus_pairs", "encode", "keep_probability", "pairs", "rank_keep_probability"]

_HOMES = {
    "Corpus": "unhot.corpus.corpus",
    "corpus_pairs": "unhot.corpus.pairing",
    "encode": "unhot.corpus.encoding",
    "keep_probability": "unhot.vocab.subsampling",
    "pairs": "unhot.corpus.pairing",
    "rank_keep_probability": "unhot.vocab.subsampling",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'unhot.corpus' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
