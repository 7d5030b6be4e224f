"""The part of `gensim.models` that concerns word vectors.

Names are loaded on first use, because `KeyedVectors` alone does not need the compiler.
"""

from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.compat.gensim.models.keyedvectors import KeyedVectors
    from unhot.compat.gensim.models.word2vec import Word2Vec

__all__ = ["KeyedVectors", "Word2Vec"]

# modules, and the classes in them
__getattr__ = lazy_names(
    __name__,
    {
        "callbacks": "",
        "keyedvectors": "",
        "word2vec": "",
        "KeyedVectors": ".keyedvectors",
        "Word2Vec": ".word2vec",
    },
)
