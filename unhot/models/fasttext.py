"""fastText: skip-gram or CBOW on words made of character n-grams, so that unseen words have vectors, too.

    h = mean of x[r] over the rows r of a bag
    L = sum of loss(h, target) over the targets

    skipgram    the bag is that of the centre word; the targets are the words around it
    cbow        the bag holds the bags of all words around a centre word; the target is the centre word

The bag of a word is its own row and the rows of its n-grams (`unhot.vocab.subwords`). Summing a bag is the
expensive part, so in skip-gram one input has many targets: a window costs one sum and one update of the bag,
where fastText needs one for each word around the centre. The targets share their draws, k for each of them
(see outputs/drawn.py), and four centre words in a row use the same draws. Sharing changes how gradients vary
together, not their mean, and in three of four cases the rows are already in the cache.

Every row moves by dL/dh, as in fastText, not by its own gradient dL/dh / n, where n is the number of rows of
the bag. So h moves by dL/dh whether a word has 3 letters or 20, and the learning rate means the same for
short words, long words and the output. This step is the gradient step times n. A row that occurs m times in a
bag would move h by m^2 / n of dL/dh, which diverges for words like "-----------". So all rows of a bag move
by n / (sum of m^2 over the different rows) times dL/dh; without repeats this factor is 1.

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

# the bag of one word, without rows: enough to compile kernels with
NOTHING = Bags(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(1, np.float32))


class NgramSkipGramFeeder(NamedTuple):
    """Examples of architecture=skipgram: the bag of a centre word predicts the words around it."""

    text: Text
    window: Window
    bags: Bags


class NgramCBOWFeeder(NamedTuple):
    """Examples of architecture=cbow: the bags of the words around a centre word predict it."""

    text: Text
    window: Window
    bags: Bags


@model("fasttext")
@dataclass(kw_only=True)
class FastText(WordModel):
    """Word vectors made of character n-grams.

    >>> model = FastText(dim=8, min_count=1, epochs=1, buckets=1000).fit([["cat", "cats", "dog"]] * 10)
    >>> model.vectors["catsdog"].shape
    (8,)
    """

    # skipgram: each word predicts the words around it; cbow: the words around a word together predict it
    architecture: Literal["skipgram", "cbow"] = "skipgram"
    minn: int = 3  # length of the shortest n-grams, in characters
    maxn: int = 6  # length of the longest n-grams, in characters; 0: use whole words only
    buckets: int = 2_000_000  # number of rows that n-grams are hashed to; only rows in use take memory
    # how n-grams are mapped to rows; floret: words have no rows of their own, so fewer buckets are enough
    scheme: Literal["fasttext", "floret"] = "fasttext"
    hashes: int = 1  # floret: rows per n-gram, 1 to 4
    float16: bool = False  # store the input rows as 16-bit floats, in half the memory

    default_lr = 0.05
    has_bags = True

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if self.float16 and not HAS_HALVES:
            raise ConfigError(
                "float16=True: this processor has no instructions for 16-bit floats (F16C); leave float16 out"
            )
        self.subwords = Subwords(
            minn=self.minn, maxn=self.maxn, buckets=self.buckets, scheme=self.scheme, hashes=self.hashes
        )
        for name in ("minn", "maxn", "buckets", "hashes"):
            setattr(self, name, getattr(self.subwords, name))  # as plain numbers
        self._file: FastTextFile | None = None  # the .bin it was read from; None once the model has changed

    @property
    def vectors(self) -> SubwordVectors:
        """The word vectors, also those of unseen words."""
        store = self.store("in_vectors")
        assert isinstance(store, SubwordVectors)
        return store

    def make_store(self, name: str) -> Vectors:
        """Make the store of a kind of vectors; input vectors are made of n-grams."""
        if name != "in_vectors":
            return super().make_store(name)
        learned, words = self.learned, self.learned.in_vocabulary
        rows = SubwordRows.of_keys(self.subwords, learned.params.in_vectors, learned.keys, len(words))
        return SubwordVectors(words.words, words.counts, rows)

    def hidden(self, words: Sequence[str]) -> Floats:
        """Return the mean of the words' vectors; for cbow of all their rows, so long words count more."""
        if self.architecture == "skipgram" or not words:
            return super().hidden(words)
        sizes = [
            self.subwords.ids(word).size + (self.subwords.own_rows and word in self.learned.in_vocabulary)
            for word in words
        ]
        return np.average([self.vectors[word] for word in words], axis=0, weights=sizes).astype(np.float32)

    def word_inputs(self) -> WordInputs:
        """Return the input of each word: the mean of its bag.

        In cbow all rows around a centre word form one bag, so each word counts by the size of its own bag.
        """
        learned, in_bias = self.learned, self.learned.params.in_bias
        bags = bags_of(learned.keys, learned.in_vocabulary, self.subwords)
        sizes = np.diff(bags.starts)
        bias = np.add.reduceat(in_bias[bags.rows], bags.starts[:-1]) / sizes if in_bias.size else in_bias
        return WordInputs(self.vectors.vectors, bias.astype(np.float32), sizes)

    def save_fasttext(self, path: str | os.PathLike[str]) -> None:
        """Write the model as fastText's own .bin file, with all buckets.

        Buckets that no word of the vocabulary uses are zeros.

        A model that was read from such a file and has learned nothing since gives the same bytes.
        """
        if self._file is not None:
            write_fasttext(Path(path), self._file)
        else:
            write_model(path, self.vectors, self.learned, self.config())

    @classmethod
    def load_fasttext(cls, path: str | os.PathLike[str]) -> FastText:
        """Open fastText's own .bin file, memory-mapped, for queries or as the `start` of another training."""
        file = read_fasttext(Path(path))
        settings, learned = read_model(path, file)
        try:
            model = cls(**settings)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}; open its vectors with Vectors.load") from error
        model.keep(learned._replace(layer=model.layer))
        model._file, model.history.position = file, Position(model.epochs)
        return model

    @classmethod
    def from_saved(cls, saved: SavedModel) -> FastText:
        """Make the model from a saved folder; raise a `FormatError` unless its rows fit its words."""
        model = super().from_saved(saved)
        try:
            model.store("in_vectors")
        except DataError as error:
            raise FormatError(f"a fasttext model: {error}; the file is damaged") from error
        return model

    def keep(self, learned: LearnedWords) -> None:
        """Set what the model has learned; it no longer equals the file that it was read from."""
        super().keep(learned)
        self._file = None

    def check_begins(self, begins: Begins) -> None:
        """Raise a `ConfigError` if the model cannot start from what was given."""
        super().check_begins(begins)
        start = begins.start
        if isinstance(start, WordModel) and not (
            isinstance(start, FastText) and start.subwords == self.subwords
        ):
            raise ConfigError(
                "start: the model to start from must be a fasttext model with the same minn, maxn, buckets, "
                "scheme and hashes"
            )
        if isinstance(start, SubwordVectors) and start.subwords.maxn:
            raise ConfigError(
                "start: these vectors are made of n-grams: start from their model (unhot.load), or give the "
                "word vectors alone: vectors[:]"
            )
        if isinstance(start, Vectors) and not self.subwords.own_rows:
            raise ConfigError(
                f"start: with scheme={self.scheme} words have no rows of their own to put vectors into; "
                "start from a model"
            )

    def check_engine(self) -> None:
        """Raise a `ConfigError` unless compiled kernels can train the model."""
        if self.engine != "compiled" or not self.layer.compiled:
            what = f"engine={self.engine!r}" if self.layer.compiled else f"output={self.layer.name}"
            raise ConfigError(
                f"{what}: fasttext is trained by compiled kernels only; choose another layer, or use "
                "skipgram or cbow with torch"
            )
        super().check_engine()

    def input_rows(self, vocabulary: Vocabulary, also: Counts) -> NgramRows:
        """Return the rows for words and n-grams, those that training touches most often first."""
        use = vocabulary.counts * keep_probability(vocabulary.counts, self.sample)
        return ngram_rows(vocabulary, self.subwords, use, also)

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return the wiring of the architecture.

        Rows start in fastText's range, because the mean of a bag is shorter than its rows.
        """
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
    # h = sum / n; each row moves by n / sum of m^2 (1 without repeated rows) times the step of h, see above
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
    # as for skip-gram; repeats are counted within each word, not across the words of the window
    return Bag(count, ones_at(inputs, count), 1, share, np.float32(count) / max(squares, np.float32(1.0)))
