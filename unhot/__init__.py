"""unhot: vectors and models from data with a big vocabulary.

    >>> import unhot
    >>> text = [["one", "hot", "word"], ["one", "cold", "word"]]
    >>> model = unhot.SkipGram(dim=50, min_count=1, sample=0).fit(text)
    >>> len(model.vectors)
    4

Names are loaded when they are first used, so that importing the package is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from unhot.version import __version__ as __version__

if TYPE_CHECKING:  # for type checkers, which do not run `__getattr__`
    from unhot.corpus.corpus import Corpus as Corpus
    from unhot.logs.encoding import read_log as read_log
    from unhot.logs.log import Log as Log
    from unhot.models.cbow import CBOW as CBOW
    from unhot.models.classifier import Classifier as Classifier
    from unhot.models.ease import EASE as EASE
    from unhot.models.eges import EGES as EGES
    from unhot.models.fasttext import FastText as FastText
    from unhot.models.glove import GloVe as GloVe
    from unhot.models.graph_vectors import GraphVectors as GraphVectors
    from unhot.models.item2vec import Item2Vec as Item2Vec
    from unhot.models.item_cosine import ItemKNN as ItemKNN
    from unhot.models.item_cosine import LastCosine as LastCosine
    from unhot.models.item_graph import ItemGraph as ItemGraph
    from unhot.models.load import load as load
    from unhot.models.load import load_language_model as load_language_model
    from unhot.models.load import load_unfinished as load_unfinished
    from unhot.models.mixture import Mixture as Mixture
    from unhot.models.neural_lm import NeuralLM as NeuralLM
    from unhot.models.ngram_model import NGramModel as NGramModel
    from unhot.models.popularity import Popularity as Popularity
    from unhot.models.popularity import RecentPopularity as RecentPopularity
    from unhot.models.session_knn import SessionKNN as SessionKNN
    from unhot.models.session_vectors import SessionVectors as SessionVectors
    from unhot.models.skip_markov import SkipMarkov as SkipMarkov
    from unhot.models.skipgram import SkipGram as SkipGram
    from unhot.models.svd import SVD as SVD
    from unhot.models.towers.gru4rec import GRU4Rec as GRU4Rec
    from unhot.models.towers.mind import MIND as MIND
    from unhot.models.towers.sasrec import SASRec as SASRec
    from unhot.models.towers.sdm import SDM as SDM
    from unhot.models.towers.youtube_dnn import YouTubeDNN as YouTubeDNN
    from unhot.train.checkpoint import Checkpoint as Checkpoint
    from unhot.vectors.store import Vectors as Vectors
    from unhot.vocab.vocabulary import Vocabulary as Vocabulary


_HOMES = {
    "Checkpoint": "unhot.train.checkpoint",
    "Corpus": "unhot.corpus.corpus",
    "Log": "unhot.logs.log",
    "Vectors": "unhot.vectors.store",
    "Vocabulary": "unhot.vocab.vocabulary",
    "load": "unhot.models.load",
    "load_language_model": "unhot.models.load",
    "load_unfinished": "unhot.models.load",
    "read_log": "unhot.logs.encoding",
}
# sub-packages that can be used after `import unhot`, without an import of their own
_ROOMS = (
    *(
        "bench",
        "compat",
        "corpus",
        "errors",
        "evaluate",
        "graphs",
        "index",
        "items",
        "logs",
        "models",
        "ngrams",
        "nn",
        "noise",
        "outputs",
        "plots",
    ),
    *("probability", "tables", "tree", "vectors"),
)


def _models() -> dict[str, Any]:
    """Return the package's own models by class name; models from plugins are left out."""
    registered = importlib.import_module("unhot.models.load").all_models()
    return {
        kind.__name__: kind for kind in registered.values() if kind.__module__.startswith("unhot.models.")
    }


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _ROOMS:
        return importlib.import_module(f"unhot.{name}")
    if name == "__all__":
        return sorted([*_HOMES, *_models()])
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name.startswith("_") or name not in (models := _models()):
        raise AttributeError(f"module 'unhot' has no attribute {name!r}")
    else:
        value = models[name]
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return [*__getattr__("__all__"), *_ROOMS, "__version__"]
