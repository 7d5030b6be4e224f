"""`Word2Vec` with gensim 4's parameters and methods, implemented by `SkipGram` and `CBOW`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from unhot.compat.gensim.models.callbacks import CallbackAny2Vec, Relay
from unhot.compat.gensim.models.edits import check_finite, ordered, take_over, vocabulary_of
from unhot.compat.gensim.models.files import path_of, refuse_pickle
from unhot.compat.gensim.models.keyedvectors import SEP_LIMIT, KeyedVectors
from unhot.compat.gensim.models.sentences import (
    LineSentence,
    PathLike,
    PathLineSentences,
    Sentences,
    Text8Corpus,
    source_of,
)
from unhot.compat.gensim.models.settings import (
    USUAL_LAST_RATE,
    check_last_rate,
    check_ranges,
    check_unsupported,
    gensim_settings,
    output_spec,
    rate_factor,
)
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.errors import DataError, NothingLearned
from unhot.models.cbow import CBOW
from unhot.models.load import load_words
from unhot.models.skipgram import SkipGram
from unhot.models.word_model import WordModel
from unhot.types import Floats
from unhot.vocab.subsampling import keep_probability
from unhot.vocab.vocabulary import Vocabulary

__all__ = ["LineSentence", "PathLineSentences", "Text8Corpus", "Word2Vec"]

logger = logging.getLogger("unhot")


class Word2Vec:
    """Word vectors that are trained on `sentences` (token lists) or `corpus_file` (a sentence per line).

    `hashfxn`, `null_word`, `sorted_vocab`, `batch_words` and `max_vocab_size` are accepted and ignored.
    """

    def __init__(
        self,
        sentences: Sentences | None = None,
        corpus_file: PathLike | None = None,
        vector_size: int = 100,
        alpha: float = 0.025,
        window: int = 5,
        min_count: int = 5,
        max_vocab_size: int | None = None,
        sample: float = 1e-3,
        seed: int = 1,
        workers: int = 3,
        min_alpha: float = USUAL_LAST_RATE,
        sg: int = 0,
        hs: int = 0,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: int = 1,
        hashfxn: Callable[..., int] = hash,
        epochs: int = 5,
        null_word: int = 0,
        trim_rule: Callable[..., int] | None = None,
        sorted_vocab: int = 1,
        batch_words: int = 10_000,
        compute_loss: bool = False,
        callbacks: Iterable[CallbackAny2Vec] = (),
        comment: str | None = None,
        max_final_vocab: int | None = None,
        shrink_windows: bool = True,
    ) -> None:
        check_unsupported(trim_rule)
        self.vector_size = self.layer1_size = vector_size
        self.alpha, self.min_alpha = alpha, min_alpha
        self.epochs, self.workers = epochs, workers
        self.window, self.shrink_windows = window, shrink_windows
        self.sample, self.seed = sample, seed
        self.sg, self.cbow_mean = int(sg), int(cbow_mean)
        self.min_count, self.max_final_vocab = min_count, max_final_vocab
        self.hs, self.negative = int(hs), int(negative)
        self.ns_exponent, self.max_vocab_size = ns_exponent, max_vocab_size
        self.compute_loss, self.comment = compute_loss, comment
        self.corpus_count = self.corpus_total_words = self.train_count = 0
        self.total_train_time = self.running_training_loss = 0.0
        self._output = output_spec(self.hs, self.negative, ns_exponent)
        self._wv = KeyedVectors(vector_size)
        self._vocabulary: Vocabulary | None = None
        self._model: WordModel | None = None  # the model trained last
        self._read: object = None  # the iterator from which the vocabulary was built, if it was one
        self._settings(epochs, alpha)  # raise errors for wrong values now, before the text is read
        check_last_rate("min_alpha", min_alpha, alpha)
        if sentences is not None or corpus_file is not None:
            with self._encode(source_of(sentences, corpus_file), known=None) as corpus:
                self._count(corpus.vocabulary, corpus.sentences, corpus.words)
                self._train(corpus, epochs, alpha, callbacks)

    def _settings(self, epochs: int, alpha: float) -> WordModel:
        """Return an unhot model with these settings; each training uses another seed."""
        shared: dict[str, Any] = {
            "dim": self.vector_size,
            "window": self.window,
            "shrink": bool(self.shrink_windows),
            "output": self._output,
            "min_count": max(1, self.min_count),
            "max_vocab": self.max_final_vocab,
            "sample": self.sample,
            "epochs": epochs,
            "seed": self.seed + self.train_count,
            "threads": self.workers,
        }
        check_ranges(shared, alpha, self.max_final_vocab)
        shared["lr"] = alpha * rate_factor(self.sg, self.cbow_mean)
        return SkipGram(**shared) if self.sg else CBOW(**shared, combine="mean" if self.cbow_mean else "sum")

    def _encode(self, source: Any, known: Vocabulary | None, counts: Vocabulary | None = None) -> Corpus:
        model = self._settings(self.epochs, self.alpha)
        return encode(
            source,
            known=known,
            counts=counts,
            min_count=model.min_count,
            max_vocab=model.max_vocab,
            threads=model.threads,
        )

    def _count(self, vocabulary: Vocabulary, sentences: int, words: int) -> None:
        """Store the vocabulary and the size of a text."""
        self._vocabulary = vocabulary
        self.corpus_count, self.corpus_total_words = sentences, words

    def _begin(self, vocabulary: Vocabulary, update: bool) -> None:
        """Set the vectors before training: random ones; with `update`, known words keep theirs."""
        random = np.random.default_rng(self.seed).random((len(vocabulary), self.vector_size), np.float32)
        rows: Floats = (random - np.float32(0.5)) / np.float32(self.vector_size)
        if update:
            known = np.array([word in self._wv for word in vocabulary.words])
            rows[known] = self._wv[[word for word in vocabulary.words if word in self._wv]]
        else:
            self._model, self._wv.vectors_lockf = None, KeyedVectors.vectors_lockf
        self._wv.replace_all(vocabulary.words, rows, vocabulary.counts)

    @property
    def wv(self) -> KeyedVectors:
        """The word vectors; this is always the same object."""
        return self._wv

    def build_vocab(
        self,
        corpus_iterable: Sentences | None = None,
        corpus_file: PathLike | None = None,
        update: bool = False,
        progress_per: int = 10_000,
        keep_raw_vocab: bool = False,
        trim_rule: Callable[..., int] | None = None,
    ) -> None:
        """Count the words of a text; with `update`, add new words and keep those of the model.

        `progress_per` and `keep_raw_vocab` are ignored.
        """
        check_unsupported(trim_rule)
        source = source_of(corpus_iterable, corpus_file)
        try:
            with self._encode(source, known=self._known() if update else None) as corpus:
                self._count(corpus.vocabulary, corpus.sentences, corpus.words)
                self._begin(corpus.vocabulary, update)
        except NothingLearned as error:  # gensim keeps its words
            logger.warning(error)
        self._read = corpus_iterable if isinstance(corpus_iterable, Iterator) else None

    def build_vocab_from_freq(
        self,
        word_freq: Mapping[str, int],
        keep_raw_vocab: bool = False,
        corpus_count: int | None = None,
        trim_rule: Callable[..., int] | None = None,
        update: bool = False,
    ) -> None:
        """Build the vocabulary from a mapping word -> count instead of a text."""
        check_unsupported(trim_rule)
        model = self._settings(self.epochs, self.alpha)
        known = self._known() if update else Vocabulary([], [])
        new = Vocabulary.from_counts(word_freq, min_count=model.min_count, max_vocab=model.max_vocab)
        counts = Counter(dict(zip(known.words, known.counts.tolist(), strict=True)))
        counts.update(dict(zip(new.words, new.counts.tolist(), strict=True)))
        vocabulary = ordered(counts)
        self._count(vocabulary, corpus_count or 0, sum(word_freq.values()))
        self._begin(vocabulary, update)

    def train(
        self,
        corpus_iterable: Sentences | None = None,
        corpus_file: PathLike | None = None,
        total_examples: int | None = None,
        total_words: int | None = None,
        epochs: int | None = None,
        start_alpha: float | None = None,
        end_alpha: float | None = None,
        word_count: int = 0,
        queue_factor: int = 2,
        report_delay: float = 1.0,
        compute_loss: bool = False,
        callbacks: Iterable[CallbackAny2Vec] = (),
    ) -> tuple[int, int]:
        """Continue training on a text; return the words trained (approximately) and the words read, in total.

        `total_examples` and `total_words` are not needed, because the text is read before training.
        """
        vocabulary = self._known()
        self.alpha, self.min_alpha = start_alpha or self.alpha, end_alpha or self.min_alpha
        self.epochs, self.compute_loss = epochs or self.epochs, compute_loss
        check_last_rate("end_alpha" if end_alpha else "min_alpha", self.min_alpha, self.alpha)
        if corpus_iterable is not None and corpus_iterable is self._read:
            raise DataError(
                "build_vocab has consumed this iterator: "
                "give a list, or an object whose __iter__ starts again"
            )
        source = source_of(corpus_iterable, corpus_file)
        try:
            with self._encode(source, known=None, counts=vocabulary) as corpus:
                self._train(corpus, self.epochs, self.alpha, callbacks)
                counts = vocabulary.counts
                kept = float((counts * keep_probability(counts, self.sample)).sum() / max(counts.sum(), 1))
                return round(kept * self.epochs * corpus.ids), self.epochs * corpus.words
        except NothingLearned as error:  # gensim has nothing to learn either
            logger.warning(error)
            return 0, 0

    def _train(self, corpus: Corpus, epochs: int, alpha: float, callbacks: Iterable[CallbackAny2Vec]) -> None:
        model = self._settings(epochs, alpha)
        start = self._current() if len(self._wv) else None
        if start is not None:
            check_finite(start.learned.in_vocabulary, start.learned.params.in_vectors)
        frozen = self._wv.locked_words()
        self.running_training_loss = 0.0
        relay, before = Relay(self, model, list(callbacks)), self._model
        shown = [*self._wv.words], self._wv.vectors, self._wv.counts
        try:
            model.fit(corpus, start=start, frozen=frozen or None, callbacks=[relay])
        except NothingLearned as error:  # gensim only warns
            logger.warning(error)
            model.fit_state = error.state
        except Exception:
            self._model = before
            self._wv.replace_all(*shown)
            raise
        if not relay.ended:
            self.show(model)
        self.train_count += 1
        self.total_train_time += model.history.seconds
        if model.history.interrupted:
            raise KeyboardInterrupt  # the model keeps what it learned until then

    def _current(self) -> WordModel:
        """Return the model with the current words and vectors of `wv`.

        Before any training, the model has nothing else.
        """
        vocabulary = self._known()
        model = self._model or self._settings(self.epochs, self.alpha)
        take_over(model, vocabulary, self._wv)
        return model

    def show(self, model: WordModel) -> None:
        """Set `wv` to what a model has learned so far."""
        if model.vocabulary is not None:
            self._model = model
            rows = model.learned.params.in_vectors
            self._wv.replace_all(model.vocabulary.words, rows, model.vocabulary.counts)

    def _known(self) -> Vocabulary:
        if self._vocabulary is None:
            raise DataError("there is no vocabulary yet: call build_vocab first, without update")
        self._vocabulary = vocabulary_of(self._wv, self._vocabulary)
        return self._vocabulary

    def get_latest_training_loss(self) -> float:
        """Return the loss of the last training, summed over all its pairs and epochs so far."""
        return self.running_training_loss

    def predict_output_word(
        self, context_words_list: Sequence[str], topn: int = 10
    ) -> list[tuple[str, float]] | None:
        """Return the words most likely to stand near these, with their probabilities.

        Return None if no word is known.
        """
        known = [word for word in context_words_list if word in self._wv]
        if not known:
            logger.warning("none of the context words is in the vocabulary")
            return None
        return self._learned().predict_word(known, topn)

    @property
    def syn1neg(self) -> Floats:
        """The output vectors of negative sampling [words, dim]."""
        return self._learned().out_vectors.vectors

    @property
    def syn1(self) -> Floats:
        """The output vectors of hierarchical softmax, one for each inner node of its tree."""
        if not self.hs:
            raise AttributeError("syn1: only a model with hs=1 has this attribute")
        return self._learned().learned.params.out_vectors

    def _learned(self) -> WordModel:
        if self._model is None:
            raise DataError("this Word2Vec is not trained yet: call train first")
        return self._current()

    def init_sims(self, replace: bool = False) -> None:
        """Do nothing: lengths are computed when they are needed."""

    def save(
        self,
        fname_or_handle: PathLike,
        separately: list[str] | None = None,
        sep_limit: int = SEP_LIMIT,
        ignore: Iterable[str] = frozenset(),
        pickle_protocol: int = 4,
    ) -> None:
        """Write unhot's model folder; parameters that concern pickles are ignored."""
        self._current().save(path_of(fname_or_handle))

    @classmethod
    def load(cls, fname: PathLike, mmap: str | None = None, *, rethrow: bool = False) -> Self:
        """Open an unhot model folder, always memory-mapped; `mmap` is ignored, pickles are refused."""
        refuse_pickle(Path(fname))
        model = load_words(fname)
        out = cls(**gensim_settings(model))
        out._output = model.layer.spec()
        out._vocabulary, out.train_count = model.vocabulary, int(model.history.words > 0)
        out.corpus_total_words = int(model.learned.in_vocabulary.counts.sum())
        out.show(model)
        return out

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all but the iterator from which the vocabulary was built."""
        return {**self.__dict__, "_read": None}

    def __str__(self) -> str:
        """Show the number of words, the dimension and the first rate."""
        facts = f"vocab={len(self._wv)}, vector_size={self.vector_size}, alpha={self.alpha}"
        return f"{type(self).__name__}<{facts}>"
