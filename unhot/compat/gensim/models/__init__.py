"""What `gensim.models` has of word vectors.

Names are loaded when they are first used: `KeyedVectors` alone needs no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unhot.compat.gensim.models.keyedvectors import KeyedVectors
    from unhot.compat.gensim.models.word2vec import Word2Vec

__all__ = ["KeyedVectors", "Word2Vec"]

_ROOMS = ("callbacks", "keyedvectors", "word2vec")


def __getattr__(name: str) -> Any:
    """Load a public name, or a module, on first use."""
    if name not in __all__ and name not in _ROOMS:
        raise AttributeError(f"module 'unhot.compat.gensim.models' has no attribute {name!r}")
    module = importlib.import_module(f"unhot.compat.gensim.models.{name.lower()}")
    return module if name in _ROOMS else getattr(module, name)
