"""gensim 4's word vectors by name, with unhot behind them.

Write `unhot.compat.gensim` where a script imports `gensim`.

    >>> from unhot.compat.gensim.models import Word2Vec
    >>> sentences = [["one", "hot", "word"], ["one", "cold", "word"]]
    >>> model = Word2Vec(sentences, vector_size=8, min_count=1, workers=1)
    >>> model.wv.index_to_key[0]
    'one'

The names can also be imported from here. docs/moving-from-gensim.md says what is the same, and what is not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unhot.compat.gensim import models
    from unhot.compat.gensim.models.callbacks import CallbackAny2Vec
    from unhot.compat.gensim.models.keyedvectors import KeyedVectors
    from unhot.compat.gensim.models.sentences import LineSentence, PathLineSentences, Text8Corpus
    from unhot.compat.gensim.models.word2vec import Word2Vec

__all__ = [
    "CallbackAny2Vec",
    "KeyedVectors",
    "LineSentence",
    "PathLineSentences",
    "Text8Corpus",
    "Word2Vec",
    "models",
]

_HOMES = {
    "CallbackAny2Vec": "callbacks",
    "KeyedVectors": "keyedvectors",
    "LineSentence": "sentences",
    "PathLineSentences": "sentences",
    "Text8Corpus": "sentences",
    "Word2Vec": "word2vec",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name == "models":
        return importlib.import_module("unhot.compat.gensim.models")
    if name not in _HOMES:
        raise AttributeError(f"module 'unhot.compat.gensim' has no attribute {name!r}")
    return getattr(importlib.import_module(f"unhot.compat.gensim.models.{_HOMES[name]}"), name)
