"""unhot: vectors and models from data with a big vocabulary.

    >>> import unhot
    >>> model = unhot.SkipGram(dim=50, min_count=1).fit([["one", "hot", "word"], ["one", "cold", "word"]])
    >>> len(model.vectors)
    4

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unhot.corpus.corpus import Corpus
    from unhot.models.cbow import CBOW
    from unhot.models.fasttext import FastText
    from unhot.models.glove import GloVe
    from unhot.models.load import load, load_unfinished
    from unhot.models.skipgram import SkipGram
    from unhot.models.svd import SVD
    from unhot.train.checkpoint import Checkpoint
    from unhot.vectors.store import Vectors
    from unhot.vocab.vocabulary import Vocabulary

__version__ = "0.1.0"
__all__ = [
    "CBOW",
    "Checkpoint",
    "Corpus",
    "FastText",
    "GloVe",
    "SVD",
    "SkipGram",
    "Vectors",
    "Vocabulary",
    "load",
    "load_unfinished",
]

_HOMES = {
    "CBOW": "unhot.models.cbow",
    "Checkpoint": "unhot.train.checkpoint",
    "Corpus": "unhot.corpus.corpus",
    "FastText": "unhot.models.fasttext",
    "GloVe": "unhot.models.glove",
    "SVD": "unhot.models.svd",
    "SkipGram": "unhot.models.skipgram",
    "Vectors": "unhot.vectors.store",
    "Vocabulary": "unhot.vocab.vocabulary",
    "load": "unhot.models.load",
    "load_unfinished": "unhot.models.load",
}
# sub-packages that `import unhot` is enough for
_ROOMS = (
    "bench",
    "compat",
    "corpus",
    "errors",
    "evaluate",
    "index",
    "models",
    "nn",
    "noise",
    "outputs",
    "probability",
    "tree",
    "vectors",
)


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _ROOMS:
        return importlib.import_module(f"unhot.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'unhot' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, *_ROOMS, "__version__"]
