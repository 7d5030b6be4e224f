"""fastText: skip-gram or CBOW on words made of character n-grams, so that unseen words have vectors, too.

    u(w) = 1/n sum of x[r] over the n rows r of word w     combine=mean: fastText's own rule
    u(w) =     sum of x[r] over the set of its rows        combine=sum: the rule of the paper
    L = sum of loss(h, target) over the targets, with the scores h . o

    skipgram    h = u(centre word); the targets are the words around it
    cbow        h is the mean of the words around a centre word, which is the target; with combine=mean it is
                the mean of all their rows, so long words count more

The rows of a word, its bag, are its own row and the rows of its n-grams (`unhot.vocab.subwords`). Summing a
bag is the expensive part, so in skip-gram one input has many targets: a window costs one sum and one update
of the bag, where fastText needs one for each word around the centre. The targets share their draws, k for
each of them (see outputs/drawn.py), and four centre words in a row use the same draws. Sharing changes how
gradients vary together, not their mean, and in three of four cases the rows are already in the cache.

With the mean each row moves by lr dL/dh, as in fastText, which is n times its gradient. With the sum each row
moves by lr dL/dh, too, which is its gradient; then h moves n times as far, and the learning rate is lower
(`RATES`). See ngram_feeders.py for the reasons, for rows that repeat and for words of very many rows.

Reference: Bojanowski et al., Enriching word vectors with subword information, 2017.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.kernels.bags import Bags
from unhot.kernels.simd.lanes import HAS_HALVES
from unhot.models.fasttext_file import read_model, write_model
from unhot.models.fitting import Begins
from unhot.models.learned_words import LearnedWords
from unhot.models.model import model
from unhot.models.ngram_feeders import NgramCBOWFeeder, NgramSkipGramFeeder
from unhot.models.ngram_rows import NgramRows, bags_of, ngram_rows
from unhot.models.window_model import WordInputs
from unhot.models.wiring import Wiring
from unhot.models.word_model import WordModel
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
# initial learning rates by architecture and `combine`, see docs/results/learning-rates.md
RATES = {
    ("skipgram", "mean"): 0.05,
    ("skipgram", "sum"): 0.0125,
    ("cbow", "mean"): 0.1,
    ("cbow", "sum"): 0.05,
}


@model("fasttext")
@dataclass(kw_only=True)
class FastText(WordModel):
    """Word vectors made of character n-grams.

    >>> model = FastText(dim=8, min_count=1, epochs=1, sample=0, buckets=1000).fit([["cat", "cats", "dog"]])
    >>> model.vectors["catsdog"].shape
    (8,)
    """

    # skipgram: each word predicts the words around it; cbow: the words around a word together predict it
    architecture: Literal["skipgram", "cbow"] = "skipgram"
    # how the rows of a word and its n-grams become its vector: the mean of all rows, as in fastText, or the
    # sum of the different ones, as in its paper; with sum, the default of lr for skipgram is 0.0125
    combine: Literal["mean", "sum"] = "mean"
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
            minn=self.minn,
            maxn=self.maxn,
            buckets=self.buckets,
            scheme=self.scheme,
            hashes=self.hashes,
            combine=self.combine,
        )
        for name in ("minn", "maxn", "buckets", "hashes"):
            setattr(self, name, getattr(self.subwords, name))  # as plain numbers
        self._file: FastTextFile | None = None  # the .bin it was read from; None once the model has changed

    @property
    def usual_lr(self) -> float:
        """The default learning rate, which depends on the architecture and on how rows are combined."""
        return RATES[self.architecture, self.combine]

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
        """Return the mean of the words' vectors; for cbow with combine=mean, the mean of all their rows."""
        if self.architecture == "skipgram" or self.combine == "sum" or not words:
            return super().hidden(words)
        sizes = [
            self.subwords.ids(word).size + (self.subwords.own_rows and word in self.learned.in_vocabulary)
            for word in words
        ]
        return np.average([self.vectors[word] for word in words], axis=0, weights=sizes).astype(np.float32)

    def word_inputs(self) -> WordInputs:
        """Return the input of each word: the mean or the sum of its bag.

        In cbow with combine=mean, all rows around a centre word form one bag, so each word counts by the size
        of its own bag.
        """
        learned, in_bias = self.learned, self.learned.params.in_bias
        bags = bags_of(learned.keys, learned.in_vocabulary, self.subwords)
        bias = np.add.reduceat(in_bias[bags.rows], bags.starts[:-1]) if in_bias.size else in_bias
        if self.combine == "sum":
            return WordInputs(self.vectors.vectors, bias, np.zeros(0, np.int64))
        sizes = np.diff(bags.starts)
        bias = bias / sizes if bias.size else bias
        return WordInputs(self.vectors.vectors, bias.astype(np.float32), sizes)

    def save_fasttext(self, path: str | os.PathLike[str]) -> None:
        """Write the model as fastText's own .bin file, with all buckets.

        Buckets that no word of the vocabulary uses are zeros. fastText knows no sums: it reads a model with
        combine=sum as means, which have the same cosines but other lengths. So the file then has no output
        rows, and a warning says so.

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
                "start: the model to start from must be a fasttext model with the same combine, minn, maxn, "
                "buckets, scheme and hashes; or start from its word vectors alone: model.vectors[:]"
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

        Rows start in fastText's range, because the mean of a bag is shorter than its rows. With the sum the
        range is that range divided by the mean number of rows of a word, so h starts with the same length.
        """
        bags, around = bags or NOTHING, 2 * self.window
        sizes, mean = np.diff(bags.starts), self.combine == "mean"
        longest = int(sizes.max(initial=0))  # rows of a word
        first = FirstRows(1.0 if mean else 1.0 / max(1.0, float(sizes.mean())), self.float16)
        if self.architecture == "skipgram":
            feeder, listed = partial(NgramSkipGramFeeder, bags=bags, mean=mean), max(around, longest)
            return Wiring(feeder, None, targets=around, rounds=around, listed=listed, first_rows=first)
        feed, listed = partial(NgramCBOWFeeder, bags=bags, mean=mean), around * max(1, longest)
        # `combine` here is about words, whatever it is for the rows of a word
        return Wiring(feed, None, listed=listed, combine="mean", first_rows=first)
