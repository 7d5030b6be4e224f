"""From raw text to memory-mapped ids."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unhot.corpus.corpus import Corpus
    from unhot.corpus.encoding import encode
    from unhot.corpus.pairing import corpus_pairs, pairs

__all__ = ["Corpus", "corpus_pairs", "encode", "pairs"]

_HOMES = {"Corpus": "corpus", "corpus_pairs": "pairing", "encode": "encoding", "pairs": "pairing"}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'unhot.corpus' has no attribute {name!r}")
    return getattr(importlib.import_module(f"unhot.corpus.{_HOMES[name]}"), name)
