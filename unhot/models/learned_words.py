"""What a word model has learned: what it can be asked, and its tensors in a saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError, whole
from unhot.kernels.loop import Params
from unhot.outputs import Head, OutputLayer
from unhot.types import Bytes, Counts, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

NO_KEYS: Counts = np.zeros(0, np.int64)
OWN = "head."  # begins the names of tensors that only a torch head has
SQUARES = "squares."  # and of those that only a training on cells has that is under way


class Learned(NamedTuple):
    """Words, and what is known of them."""

    layer: OutputLayer
    vocabulary: Vocabulary
    params: Params  # without padding
    seen: Counts  # targets that learned noise has counted; empty: it is not learned
    frozen: Bytes  # [words] 1 where the input vector stays as it is; empty: none does
    # what a torch head has learned beside the params: adaptive's projections
    own: Mapping[str, Any] = MappingProxyType({})
    keys: Counts = NO_KEYS  # [input rows] what each row is, see `InputRows`; empty: those of the words
    # mean squares of gradients, by names of params, while it is trained on cells
    squares: Mapping[str, Any] = MappingProxyType({})

    def tensors(self) -> dict[str, Any]:
        """As they are saved; a bias of size zero is none."""
        tensors = {**self.params._asdict(), "seen": self.seen, "frozen": self.frozen, "row_keys": self.keys}
        tensors |= {f"{OWN}{name}": array for name, array in self.own.items()}
        tensors |= {f"{SQUARES}{name}": array for name, array in self.squares.items()}
        return {name: array for name, array in tensors.items() if array.size > 0}


class WordInputs(NamedTuple):
    """What words are to a model that has to predict others from them."""

    vectors: Floats  # [words, dim]
    bias: Floats  # [words], or empty
    sizes: Counts  # [words] rows that each is made of, its weight in a mean of several words; empty: one


class LearnedWords:
    """What every word model can be asked."""

    def __init__(self, layer: OutputLayer) -> None:
        self.layer = layer
        self._learned: Learned | None = None
        self._stores: dict[str, Vectors] = {}  # of the params as they are

    def _keep(self, learned: Learned) -> None:
        self._learned = learned
        self._stores.clear()

    @property
    def learned(self) -> Learned:
        """What it has learned so far; a `DataError` before `fit`."""
        if self._learned is None:
            raise DataError(f"this {type(self).__name__} has learned nothing yet: call fit first")
        return self._learned

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words, with their counts; None before anything is learned."""
        return None if self._learned is None else self._learned.vocabulary

    @property
    def vectors(self) -> Vectors:
        """The input vectors: the word vectors proper."""
        return self._as_vectors("in_vectors")

    @property
    def out_vectors(self) -> Vectors:
        """The output vectors, where the layer has one for each word."""
        return self._as_vectors("out_vectors")

    @property
    def head(self) -> Head:
        """The output layer with what it has learned: probabilities of all words for hidden vectors."""
        _, vocabulary, params, seen, *_ = self.learned
        ln_z = float(params.ln_z[0]) if params.ln_z.size else 0.0
        counts = seen - 1 if seen.size else vocabulary.counts  # the noise it drew from; it began at one
        return Head(
            self.layer, counts, params.out_vectors, params.out_bias if params.out_bias.size else None, ln_z
        )

    def word_inputs(self) -> WordInputs:
        """The inputs of all words."""
        return WordInputs(self.learned.params.in_vectors, self.learned.params.in_bias, np.zeros(0, np.int64))

    def hidden(self, words: Sequence[str]) -> Floats:
        """The hidden vector that words give together.

        The mean of their vectors, or what the model makes of them.
        """
        if not words:
            raise DataError("no words: give at least one that the model knows")
        mean: Floats = np.mean([self.vectors[word] for word in words], axis=0, dtype=np.float32)
        return mean

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """The words most likely to stand near these, with their probabilities."""
        vocabulary = self.learned.vocabulary
        topn = min(whole("topn", topn, 1), len(vocabulary))
        ids, log_prob = self.head.topk(self.hidden(context), topn)
        return [(vocabulary.words[i], float(p)) for i, p in zip(ids, np.exp(log_prob), strict=True)]

    def _as_vectors(self, name: str) -> Vectors:
        if name == "out_vectors" and not self.layer.rows_are_words:
            raise ConfigError(
                f"out_vectors: the output rows of {self.layer.name} are not those of the words; see "
                "model.head"
            )
        if name not in self._stores:
            self._stores[name] = self._make_vectors(name)
        return self._stores[name]

    def _make_vectors(self, name: str) -> Vectors:
        learned = self.learned
        return Vectors(learned.vocabulary.words, getattr(learned.params, name), learned.vocabulary.counts)


def from_saved(saved: SavedModel, layer: OutputLayer) -> Learned:
    """The tensors of a saved model, with the biases that its layer learns and no others."""
    params = Params(*(saved.tensors.get(name, np.zeros(0, np.float32)) for name in Params._fields))
    learns, words, inputs = layer.biases(), len(saved.vocabulary), len(params.in_vectors)
    sizes = {
        "out_bias": len(params.out_vectors) * learns.out,
        "in_bias": inputs * learns.each_input,
        "ln_z": int(learns.ln_z),
    }
    for name, size in sizes.items():
        _check(layer, name, getattr(params, name).shape, size)
    seen, frozen = (
        saved.tensors.get("seen", np.zeros(0, np.int64)),
        saved.tensors.get("frozen", np.zeros(0, np.uint8)),
    )
    for name, array in (("seen", seen), ("frozen", frozen)):
        if array.size:
            _check(layer, name, array.shape, words)
    own, squares = (_named(saved, first) for first in (OWN, SQUARES))
    return Learned(
        layer, saved.vocabulary, params, seen, frozen, own, saved.tensors.get("row_keys", NO_KEYS), squares
    )


def _named(saved: SavedModel, first: str) -> dict[str, Any]:
    """Tensors whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(first): array for name, array in saved.tensors.items() if name.startswith(first)
    }


def _check(layer: OutputLayer, name: str, found: tuple[int, ...], size: int) -> None:
    if found != (size,):
        raise FormatError(
            f"a model with {layer.spec()}: tensor {name!r} has the shape {found}, it must be ({size},); the "
            "file is damaged"
        )
