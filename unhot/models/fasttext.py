"""fastText: skip-gram and CBOW whose words are made of their n-grams, so that unseen words have vectors, too.

    h = mean of x[r] over the rows r of a bag        skipgram: of the centre, which predicts the words around
                                                     it cbow: of all words around a centre together, which
                                                     predict it
    L = sum of loss(h, target) over the targets

The bag of a word is its own row and those of its n-grams (`unhot.vocab.subwords`). To sum it up is the
expensive part, so in skip-gram one input has many targets: a window costs one sum and one update of the bag,
where fastText has one for each word around. The targets share their draws, k for each of them (see
outputs/drawn.py), and four centres in a row draw the same words: that changes how gradients vary together,
not their mean, and three of four times the rows are in the cache.

Every row moves by dL/dh, as in fastText, not by its own gradient dL/dh / n: so h moves by dL/dh whether a
word has 3 letters or 20, and the learning rate means the same for both and for the output. It is the gradient
step, times the number n of the bag's rows. A row that stands in a bag m times would move h by m^2 shares of
n, which runs away in words like "-----------": there all rows move by n / sum of m^2 of it.

Reference: Bojanowski et al., Enriching word vectors with subword information, 2017.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.kernels.bags import Bags, fetch_bag, put_bag
from unhot.kernels.feeder import Bag, fetch, input_of, ones_at, prepare, targets_of
from unhot.kernels.simd.lanes import HAS_HALVES
from unhot.kernels.window_feeder import centre_target, context_targets_with_draws, prepare_windows
from unhot.kernels.windows import Text, Window, contexts_of
from unhot.models.fasttext_file import read_model, write_model
from unhot.models.fitting import Begins
from unhot.models.learned_words import LearnedWords
from unhot.models.model import model
from unhot.models.ngram_rows import NgramRows, bags_of, ngram_rows
from unhot.models.wiring import Wiring
from unhot.models.word_model import WordInputs, WordModel
from unhot.train.history import Position
from unhot.train.params import FirstRows
from unhot.types import Counts, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.formats.fasttext import FastTextFile, read_fasttext, write_fasttext
from unhot.vectors.store import Vectors
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subsampling import keep_probability
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import Vocabulary

# a word without rows: enough to compile with
NOTHING = Bags(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(1, np.float32))


class NgramSkipGramFeeder(NamedTuple):
    """The centre's bag predicts the words around it."""

    text: Text
    window: Window
    bags: Bags


class NgramCBOWFeeder(NamedTuple):
    """The bags of the words around a centre predict it."""

    text: Text
    window: Window
    bags: Bags


@model("fasttext")
@dataclass(kw_only=True)
class FastText(WordModel):
    """Word vectors made of n-grams.

    >>> model = FastText(dim=8, min_count=1, epochs=1, buckets=1000).fit([["cat", "cats", "dog"]] * 10)
    >>> model.vectors["catsdog"].shape
    (8,)
    """

    architecture: Literal["skipgram", "cbow"] = "skipgram"  # what predicts what
    minn: int = 3  # characters of the shortest n-gram
    maxn: int = 6  # characters of the longest n-gram; 0: none, words alone
    buckets: int = 2_000_000  # rows that n-grams share; those in use take memory
    # how n-grams find their rows; floret: words have none of their own, so few buckets do
    scheme: Literal["fasttext", "floret"] = "fasttext"
    hashes: int = 1  # floret: rows of an n-gram, 1 to 4
    float16: bool = False  # keep the input rows as 16-bit floats: half the memory

    default_lr = 0.05
    has_bags = True

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if self.float16 and not HAS_HALVES:
            raise ConfigError(
                "float16=True: this processor has no instructions for 16-bit floats (F16C); leave it out"
            )
        self.subwords = Subwords(
            minn=self.minn, maxn=self.maxn, buckets=self.buckets, scheme=self.scheme, hashes=self.hashes
        )
        for name in ("minn", "maxn", "buckets", "hashes"):
            setattr(self, name, getattr(self.subwords, name))  # as plain numbers
        self._file: FastTextFile | None = None  # what all of it was read from, as long as that is so

    @property
    def vectors(self) -> SubwordVectors:
        """The vectors of words, seen and unseen."""
        store = self.store("in_vectors")
        assert isinstance(store, SubwordVectors)
        return store

    def make_store(self, name: str) -> Vectors:
        """Input vectors are made of n-grams."""
        if name != "in_vectors":
            return super().make_store(name)
        learned, words = self.learned, self.learned.in_vocabulary
        rows = SubwordRows.of_keys(self.subwords, learned.params.in_vectors, learned.keys, len(words))
        return SubwordVectors(words.words, words.counts, rows)

    def hidden(self, words: Sequence[str]) -> Floats:
        """The mean of their vectors; cbow: of all their rows, so that a long word counts more."""
        if self.architecture == "skipgram" or not words:
            return super().hidden(words)
        sizes = [
            self.subwords.ids(word).size + (self.subwords.own_rows and word in self.learned.in_vocabulary)
            for word in words
        ]
        return np.average([self.vectors[word] for word in words], axis=0, weights=sizes).astype(np.float32)

    def word_inputs(self) -> WordInputs:
        """The means of the words' bags.

        In cbow all rows around a centre are one bag, so words count by the sizes of theirs.
        """
        learned, in_bias = self.learned, self.learned.params.in_bias
        bags = bags_of(learned.keys, learned.in_vocabulary, self.subwords)
        sizes = np.diff(bags.starts)
        bias = np.add.reduceat(in_bias[bags.rows], bags.starts[:-1]) / sizes if in_bias.size else in_bias
        return WordInputs(self.vectors.vectors, bias.astype(np.float32), sizes)

    def save_fasttext(self, path: str | os.PathLike[str]) -> None:
        """Write fastText's own file, a .bin, with all buckets.

        Those that no word of the vocabulary uses are zeros.

        A model that was read from such a file, and has learned nothing since, is written as the same bytes.
        """
        if self._file is not None:
            write_fasttext(Path(path), self._file)
        else:
            write_model(path, self.vectors, self.learned, self.config())

    @classmethod
    def load_fasttext(cls, path: str | os.PathLike[str]) -> FastText:
        """Open fastText's own file, memory-mapped, to be asked or to `start` another training from."""
        file = read_fasttext(Path(path))
        settings, learned = read_model(path, file)
        try:
            model = cls(**settings)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}; its vectors can be opened with Vectors.load") from error
        model.keep(learned._replace(layer=model.layer))
        model._file, model.history.position = file, Position(model.epochs)
        return model

    @classmethod
    def from_saved(cls, saved: SavedModel) -> FastText:
        """The model of a directory that was read; a `FormatError` unless its rows fit its words."""
        model = super().from_saved(saved)
        try:
            model.store("in_vectors")
        except DataError as error:
            raise FormatError(f"a fasttext model: {error}; the file is damaged") from error
        return model

    def keep(self, learned: LearnedWords) -> None:
        """Have learned that, which is no file any more."""
        super().keep(learned)
        self._file = None

    def check_begins(self, begins: Begins) -> None:
        """Raise a `ConfigError` for what it cannot begin from."""
        super().check_begins(begins)
        start = begins.start
        if isinstance(start, WordModel) and not (
            isinstance(start, FastText) and start.subwords == self.subwords
        ):
            raise ConfigError(
                "start: a model to go on with must be a fasttext model with the same minn, maxn, buckets, "
                "scheme and hashes"
            )
        if isinstance(start, SubwordVectors) and start.subwords.maxn:
            raise ConfigError(
                "start: vectors made of n-grams: go on with their model (unhot.load), or give the words' "
                "alone: vectors[:]"
            )
        if isinstance(start, Vectors) and not self.subwords.own_rows:
            raise ConfigError(
                f"start: with scheme={self.scheme} words have no rows that vectors could become; start from "
                "a model"
            )

    def check_engine(self) -> None:
        """Raise a `ConfigError` for what only torch can train."""
        if self.engine != "compiled" or not self.layer.compiled:
            what = f"engine={self.engine!r}" if self.layer.compiled else f"output={self.layer.name}"
            raise ConfigError(
                f"{what}: fasttext is trained by compiled kernels; choose another layer, or skipgram or "
                "cbow for torch"
            )
        super().check_engine()

    def input_rows(self, vocabulary: Vocabulary, also: Counts) -> NgramRows:
        """Rows for words and n-grams, by how often they are trained."""
        use = vocabulary.counts * keep_probability(vocabulary.counts, self.sample)
        return ngram_rows(vocabulary, self.subwords, use, also)

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """By architecture; rows begin as in fastText, since the mean of a bag is shorter than its rows."""
        bags, around = bags or NOTHING, 2 * self.window
        longest = int(np.diff(bags.starts).max(initial=0))  # rows of a word
        first = FirstRows(1.0, self.float16)
        if self.architecture == "skipgram":
            feeder, listed = partial(NgramSkipGramFeeder, bags=bags), max(around, longest)
            return Wiring(feeder, None, targets=around, rounds=around, listed=listed, first_rows=first)
        feed, listed = partial(NgramCBOWFeeder, bags=bags), around * max(1, longest)
        return Wiring(feed, None, listed=listed, combine="mean", first_rows=first)


for _feeder in (NgramSkipGramFeeder, NgramCBOWFeeder):
    prepare.register(_feeder)(prepare_windows)
targets_of.register(NgramSkipGramFeeder)(context_targets_with_draws)
targets_of.register(NgramCBOWFeeder)(centre_target)


@fetch.register(NgramSkipGramFeeder)
def _fetch_centre(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> None:
    fetch_bag(shape, params, feeder.bags, scratch.feed.word[place], how.hot)


@fetch.register(NgramCBOWFeeder)
def _fetch_entering(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> None:
    fetch_bag(shape, params, feeder.bags, scratch.feed.word[place + feeder.window.size + 1], how.hot)


@input_of.register(NgramSkipGramFeeder)
def _centre(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    bags = feeder.bags
    contexts, word = contexts_of(kept, centre), kept.word[centre]
    count = 0
    if contexts > 0:
        count = put_bag(bags, word, how.hot, inputs, 0)
    share = np.float32(1.0) / np.float32(max(count, 1))
    return Bag(count, ones_at(inputs, count), contexts, share, np.float32(count) / bags.squares[word])


@input_of.register(NgramCBOWFeeder)
def _words_around(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    bags = feeder.bags
    reach = kept.reach[centre]
    squares = np.float32(0.0)
    count = 0
    for place in range(max(kept.begin[centre], centre - reach), min(kept.end[centre], centre + reach + 1)):
        if place != centre:
            word = kept.word[place]
            count = put_bag(bags, word, how.hot, inputs, count)
            squares += bags.squares[word]
    share = np.float32(1.0) / np.float32(max(count, 1))
    return Bag(count, ones_at(inputs, count), 1, share, np.float32(count) / max(squares, np.float32(1.0)))
