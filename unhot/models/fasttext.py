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
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError, one_of
from unhot.kernels.bags import Bags, fetch_bag, put_bag
from unhot.kernels.learning import learn_bag
from unhot.kernels.loop import choose, fetch, learn, predict_centre, predict_each_context
from unhot.kernels.simd.lanes import HAS_HALVES
from unhot.kernels.windows import contexts_of, ones_at
from unhot.models.fasttext_file import read_model, write_model
from unhot.models.learned_words import Learned, WordInputs
from unhot.models.ngram_rows import InputRows, bags_of, input_rows
from unhot.models.word_model import WordModel
from unhot.train.history import Position
from unhot.train.params import Begin
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


class SubwordSkipGramStep(NamedTuple):
    """The centre's bag predicts the words around it."""

    bags: Bags


class SubwordCBOWStep(NamedTuple):
    """The bags of the words around a centre predict it."""

    bags: Bags


@dataclass(kw_only=True)
class FastText(WordModel):
    """Word vectors made of n-grams.

    >>> model = FastText(dim=8, min_count=1, epochs=1, buckets=1000).fit([["cat", "cats", "dog"]] * 10)
    >>> model.vectors["catsdog"].shape
    (8,)
    """

    architecture: str = "skipgram"  # skipgram | cbow
    minn: int = 3  # characters of the shortest n-gram
    maxn: int = 6  # and of the longest; 0: words alone
    buckets: int = 2_000_000  # rows that n-grams share
    scheme: str = "fasttext"  # fasttext | floret: how n-grams find their rows
    hashes: int = 1  # floret: rows of an n-gram, 1 to 4
    float16: bool = False  # keep the input rows as 16-bit floats: half the memory

    name: ClassVar[str] = "fasttext"
    default_lr: ClassVar[float] = 0.05
    has_bags: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        one_of("architecture", self.architecture, ("skipgram", "cbow"))
        if not isinstance(self.float16, (bool, np.bool_)):
            raise ConfigError(f"float16={self.float16!r}: must be true or false")
        self.float16 = bool(self.float16)
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
        store = self._as_vectors("in_vectors")
        assert isinstance(store, SubwordVectors)
        return store

    def _make_vectors(self, name: str) -> Vectors:
        if name != "in_vectors":
            return super()._make_vectors(name)
        learned = self.learned
        rows = SubwordRows.of_keys(
            self.subwords, learned.params.in_vectors, learned.keys, len(learned.vocabulary)
        )
        return SubwordVectors(learned.vocabulary.words, learned.vocabulary.counts, rows)

    def hidden(self, words: Sequence[str]) -> Floats:
        """The mean of their vectors; cbow: of all their rows, so that a long word counts more."""
        if self.architecture == "skipgram" or not words:
            return super().hidden(words)
        sizes = [
            self.subwords.ids(word).size + (self.subwords.own_rows and word in self.learned.vocabulary)
            for word in words
        ]
        return np.average([self.vectors[word] for word in words], axis=0, weights=sizes).astype(np.float32)

    def word_inputs(self) -> WordInputs:
        """The means of the words' bags; in cbow, where all rows around a centre are one bag, they count by their sizes."""
        learned, in_bias = self.learned, self.learned.params.in_bias
        bags = bags_of(learned.keys, learned.vocabulary, self.subwords)
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
        model._keep(learned._replace(layer=model.layer))
        model._file, model.history.position = file, Position(model.epochs)
        return model

    @classmethod
    def from_saved(cls, saved: SavedModel) -> FastText:
        """The model of a directory that was read; a `FormatError` unless its rows fit its words."""
        model = super().from_saved(saved)
        try:
            model._stores["in_vectors"] = model._make_vectors("in_vectors")
        except DataError as error:
            raise FormatError(f"a fasttext model: {error}; the file is damaged") from error
        return model

    def _keep(self, learned: Learned) -> None:
        super()._keep(learned)
        self._file = None

    def _check_start(self, start: Vectors | WordModel | None) -> None:
        super()._check_start(start)
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

    def _check_engine(self) -> None:
        if self.engine != "compiled" or not self.layer.compiled:
            what = f"engine={self.engine!r}" if self.layer.compiled else f"output={self.layer.name}"
            raise ConfigError(
                f"{what}: fasttext is trained by compiled kernels; choose another layer, or skipgram or "
                "cbow for torch"
            )
        super()._check_engine()

    def begins(self) -> Begin:
        """As fastText: the mean of a bag is shorter than its rows."""
        return Begin(1.0, self.float16)

    def make_inputs(self, vocabulary: Vocabulary, also: Counts) -> InputRows:
        """Rows for words and n-grams, by how often they are trained."""
        return input_rows(
            vocabulary,
            self.subwords,
            vocabulary.counts * keep_probability(vocabulary.counts, self.sample),
            also,
        )

    def step(self, bags: Bags | None = None) -> SubwordSkipGramStep | SubwordCBOWStep:
        """By architecture."""
        return (SubwordSkipGramStep if self.architecture == "skipgram" else SubwordCBOWStep)(bags or NOTHING)

    def bag(self, bags: Bags) -> int:
        """The rows of the longest word, or of a window of such words."""
        longest = int(np.diff(bags.starts).max(initial=0))
        return longest * (1 if self.architecture == "skipgram" else 2 * self.window)

    def rounds(self) -> int:
        """One for each target."""
        return self.targets()

    def combines(self) -> str | None:
        """By architecture."""
        return "mean" if self.architecture == "cbow" else None

    def inputs(self) -> int:
        """The hidden vector."""
        return 1

    def targets(self) -> int:
        """All words of the widest window, or the centre."""
        return 2 * self.window if self.architecture == "skipgram" else 1


choose.register(SubwordSkipGramStep)(predict_each_context)
choose.register(SubwordCBOWStep)(predict_centre)


@fetch.register(SubwordSkipGramStep)
def _fetch_centre(step: Any, shape: Any, params: Any, kept: Any, place: Any, window: Any, chunk: Any) -> None:
    fetch_bag(shape, params, step.bags, kept.word[place], chunk.hot)


@fetch.register(SubwordCBOWStep)
def _fetch_entering(
    step: Any, shape: Any, params: Any, kept: Any, place: Any, window: Any, chunk: Any
) -> None:
    fetch_bag(shape, params, step.bags, kept.word[place + window.size + 1], chunk.hot)


@learn.register(SubwordSkipGramStep)
def _learn_centre(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, centre: Any, part: Any, chunk: Any
) -> Any:
    kept, inputs = scratch.kept, scratch.inputs
    contexts, one = contexts_of(kept, centre), np.float32(1.0)
    if contexts == 0:
        return 0.0, 0
    count = put_bag(step.bags, kept.word[centre], chunk.hot, inputs, 0)
    share, moved = one / np.float32(count), np.float32(count) / step.bags.squares[kept.word[centre]]
    return learn_bag(
        shape, tables, params, scratch, count, ones_at(inputs, count), share, moved, part, chunk
    ), contexts


@learn.register(SubwordCBOWStep)
def _learn_around(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, centre: Any, part: Any, chunk: Any
) -> Any:
    kept, inputs, one = scratch.kept, scratch.inputs, np.float32(1.0)
    reach, count, squares = kept.reach[centre], 0, np.float32(0.0)
    for place in range(max(kept.begin[centre], centre - reach), min(kept.end[centre], centre + reach + 1)):
        if place != centre:
            count = put_bag(step.bags, kept.word[place], chunk.hot, inputs, count)
            squares += step.bags.squares[kept.word[place]]
    if count == 0:
        return 0.0, 0
    share, moved = one / np.float32(count), np.float32(count) / squares
    return learn_bag(
        shape, tables, params, scratch, count, ones_at(inputs, count), share, moved, part, chunk
    ), 1
