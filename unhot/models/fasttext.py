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
(`RATES`). See bag_feeders.py for the reasons, for rows that repeat and for words of very many rows.

Reference: Bojanowski et al., Enriching word vectors with subword information, 2017.
"""

import contextlib
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, FormatError
from unhot.kernels.bags import Bags
from unhot.kernels.simd.lanes import HAS_HALVES
from unhot.kernels.windows import Window
from unhot.models.bag_feeders import NgramCBOWFeeder, NgramSkipGramFeeder
from unhot.models.engine import Wiring, near_words
from unhot.models.fasttext_file import read_model, write_model
from unhot.models.fitting import Begins, FitState, InEpochs, Reads, Tells
from unhot.models.learned_words import LearnedWords
from unhot.models.model import model
from unhot.models.ngram_rows import NgramRows, ngram_rows
from unhot.models.text_model import encoded
from unhot.models.windows import check_start, old_keys, words_of
from unhot.models.word_answers import SubwordAnswers
from unhot.models.word_model import WordModel, check_cells
from unhot.outputs import parse_output
from unhot.train.history import History, Position
from unhot.train.params import FirstRows
from unhot.types import Counts
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.formats.fasttext import read_fasttext, write_fasttext
from unhot.vectors.store import Vectors
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

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find how words are cut into n-grams."""
        layer = parse_output(self.output)
        if self.engine != "compiled" or not layer.compiled:
            what = f"engine={self.engine!r}" if layer.compiled else f"output={layer.name}"
            raise ConfigError(
                f"{what}: fasttext is trained by compiled kernels only; choose another layer, or use "
                "skipgram or cbow with torch"
            )
        super().check()
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

    @property
    def usual_lr(self) -> float:
        """The default learning rate, which depends on the architecture and on how rows are combined."""
        return RATES[self.architecture, self.combine]

    @property
    def vectors(self) -> SubwordVectors:
        """The word vectors, also those of unseen words."""
        assert isinstance(self.answers, SubwordAnswers)
        return self.answers.vectors

    def make_answers(self, learned: LearnedWords) -> SubwordAnswers:
        """Return what answers questions about words and their n-grams."""
        by_rows = self.architecture == "cbow" and self.combine == "mean"
        return SubwordAnswers(learned, self.subwords, by_rows=by_rows)

    def save_fasttext(self, path: str | os.PathLike[str]) -> None:
        """Write the model as fastText's own .bin file, with all buckets.

        Buckets that no word of the vocabulary uses are zeros. fastText knows no sums: it reads a model with
        combine=sum as means, which have the same cosines but other lengths. So the file then has no output
        rows, and a warning says so.

        A model that was read from such a file and has learned nothing since gives the same bytes.
        """
        if self.learned.file is not None:
            write_fasttext(Path(path), self.learned.file)
        else:
            write_model(path, self.vectors, self.learned, self.config())

    @classmethod
    def load_fasttext(cls, path: str | os.PathLike[str]) -> Self:
        """Open fastText's own .bin file, memory-mapped, for queries or as the `start` of another training."""
        file = read_fasttext(Path(path))
        settings, learned = read_model(path, file)
        try:
            model = cls(**settings)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}; open its vectors with Vectors.load") from error
        history = History(position=Position(model.epochs), epochs=model.epochs)
        model.fit_state = FitState(replace(learned, layer=model.layer, file=file), history)
        return model

    def restore(self, saved: SavedModel) -> LearnedWords:
        """Return what a saved model had learned; raise a `FormatError` unless its rows fit its words."""
        learned = super().restore(saved)
        try:
            self.make_answers(learned).vectors  # noqa: B018 (checks the rows)
        except DataError as error:
            raise FormatError(f"a fasttext model: {error}; the file is damaged") from error
        return learned

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Check what is given, then encode the text."""
        start = begins.start
        check_start(self, begins, bags=True)
        if words_of(start) is not None and not (
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
        check_cells(self.name, reads)
        return encoded(self, self.grown(reads, begins), tells)

    def training(self, data: Corpus, begins: Begins, tells: Tells) -> InEpochs[LearnedWords]:
        """Return a training on the windows of the text."""
        rows = self.rows_of(data.vocabulary, old_keys(begins))
        return self.windows(near_words(data, rows=rows), begins, tells)

    def rows_of(self, words: Vocabulary, also: Counts) -> NgramRows:
        """Return the rows of words and n-grams, those that training touches most often first."""
        use = words.counts * keep_probability(words.counts, self.sample)
        return ngram_rows(words, self.subwords, use, also)

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return the wiring of the architecture.

        Rows start in fastText's range, because the mean of a bag is shorter than its rows. With the sum the
        range is that range divided by the mean number of rows of a word, so h starts with the same length.
        """
        window, around = Window(self.window, self.shrink), 2 * self.window
        bags = bags or NOTHING
        sizes, mean = np.diff(bags.starts), self.combine == "mean"
        longest = int(sizes.max(initial=0))  # rows of a word
        first = FirstRows(1.0 if mean else 1.0 / max(1.0, float(sizes.mean())), self.float16)
        if self.architecture == "skipgram":
            feeder, listed = partial(NgramSkipGramFeeder, bags=bags, mean=mean), max(around, longest)
            most: dict[str, Any] = {"targets": around, "rounds": around, "listed": listed}
            return Wiring(feeder, None, window, **most, first_rows=first)
        feed, listed = partial(NgramCBOWFeeder, bags=bags, mean=mean), around * max(1, longest)
        # `combine` here is about words, whatever it is for the rows of a word
        return Wiring(feed, None, window, listed=listed, combine="mean", first_rows=first)
