"""The names of gensim 4's word vectors, implemented by unhot.

Import `unhot.compat.gensim` where a script imports `gensim`.

    >>> from unhot.compat.gensim.models import Word2Vec
    >>> sentences = [["one", "hot", "word"], ["one", "cold", "word"]]
    >>> model = Word2Vec(sentences, vector_size=8, min_count=1, workers=1)
    >>> model.wv.index_to_key[0]
    'one'

The names can also be imported from this package. docs/moving-from-gensim.md lists what is the same and what
differs.
"""

from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    {
        "models": "",
        "CallbackAny2Vec": ".models.callbacks",
        "KeyedVectors": ".models.keyedvectors",
        "LineSentence": ".models.sentences",
        "PathLineSentences": ".models.sentences",
        "Text8Corpus": ".models.sentences",
        "Word2Vec": ".models.word2vec",
    },
)
