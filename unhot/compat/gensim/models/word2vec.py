"""`Word2Vec` with gensim 4's parameters and methods: a front for `SkipGram` and `CBOW`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
from unhot.errors import DataError
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
    """Word vectors. They are learned at once, given `sentences` (token lists) or `corpus_file` (a line each).

    `hashfxn`, `null_word`, `sorted_vocab`, `batch_words` and `max_vocab_size` are accepted, and have nothing
    to decide here.
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
        self._model: WordModel | None = None  # what was learned last
        self._read: object = None  # the iterator that the vocabulary was made of, if it was one
        self._settings(epochs, alpha)  # wrong values are errors now, not after the text is read
        check_last_rate("min_alpha", min_alpha, alpha)
        if sentences is not None or corpus_file is not None:
            with self._encode(source_of(sentences, corpus_file), known=None) as corpus:
                self._count(corpus.vocabulary, corpus.sentences, corpus.words)
                self._train(corpus, epochs, alpha, callbacks)

    def _settings(self, epochs: int, alpha: float) -> WordModel:
        """A model of unhot with these settings; each training draws other random numbers."""
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
        """Take note of what a text holds."""
        self._vocabulary = vocabulary
        self.corpus_count, self.corpus_total_words = sentences, words

    def _begin(self, vocabulary: Vocabulary, update: bool) -> None:
        """Vectors before training: with `update` those there are, and for new words as unhot begins them."""
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
        """The word vectors; always the same object."""
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
        """Count words; with `update`, the words of the model stay, and new ones join them.

        `progress_per` and `keep_raw_vocab` have nothing to decide.
        """
        check_unsupported(trim_rule)
        source = source_of(corpus_iterable, corpus_file)
        with self._encode(source, known=self._known() if update else None) as corpus:
            self._count(corpus.vocabulary, corpus.sentences, corpus.words)
            self._begin(corpus.vocabulary, update)
        self._read = corpus_iterable if isinstance(corpus_iterable, Iterator) else None

    def build_vocab_from_freq(
        self,
        word_freq: Mapping[str, int],
        keep_raw_vocab: bool = False,
        corpus_count: int | None = None,
        trim_rule: Callable[..., int] | None = None,
        update: bool = False,
    ) -> None:
        """Take words and their counts from a mapping instead of a text."""
        check_unsupported(trim_rule)
        model = self._settings(self.epochs, self.alpha)
        known = self._known() if update else Vocabulary([], [])
        new = Vocabulary.from_counts(word_freq, min_count=model.min_count, max_vocab=model.max_vocab)
        counts = dict(zip(known.words, known.counts.tolist(), strict=True))
        for word, count in zip(new.words, new.counts.tolist(), strict=True):
            counts[word] = counts.get(word, 0) + count
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
        """Learn from a text, going on from what there is; words trained (about) and words read, all in all.

        The totals need not be given: the text is read before training begins.
        """
        vocabulary = self._known()
        self.alpha, self.min_alpha = start_alpha or self.alpha, end_alpha or self.min_alpha
        self.epochs, self.compute_loss = epochs or self.epochs, compute_loss
        check_last_rate("end_alpha" if end_alpha else "min_alpha", self.min_alpha, self.alpha)
        if corpus_iterable is not None and corpus_iterable is self._read:
            raise DataError(
                "this iterator was used up by build_vocab: "
                "give a list, or an object whose __iter__ starts again"
            )
        with self._encode(source_of(corpus_iterable, corpus_file), known=None, counts=vocabulary) as corpus:
            self._train(corpus, self.epochs, self.alpha, callbacks)
            counts = vocabulary.counts
            kept = float((counts * keep_probability(counts, self.sample)).sum() / max(counts.sum(), 1))
            return round(kept * self.epochs * corpus.ids), self.epochs * corpus.words

    def _train(self, corpus: Corpus, epochs: int, alpha: float, callbacks: Iterable[CallbackAny2Vec]) -> None:
        model = self._settings(epochs, alpha)
        start = self._current() if len(self._wv) else None
        if start is not None:
            check_finite(start.learned.in_vocabulary, start.learned.params.in_vectors)
        frozen = self._wv.locked_words()
        self.running_training_loss = 0.0
        relay = Relay(self, model, list(callbacks))
        try:
            model.fit(corpus, start=start, frozen=frozen or None, callbacks=[relay])
        finally:
            if not relay.ended:
                self.show(model)
        self.train_count += 1
        self.total_train_time += model.history.seconds
        if model.history.interrupted:
            raise KeyboardInterrupt  # what was learned until then is kept

    def _current(self) -> WordModel:
        """The model with the words and vectors that `wv` has now.

        Before any training, one that has only these.
        """
        vocabulary = self._known()
        model = self._model or self._settings(self.epochs, self.alpha)
        take_over(model, vocabulary, self._wv)
        return model

    def show(self, model: WordModel) -> None:
        """Let `wv` be what a model has learned so far."""
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
        """The loss of all pairs of the last training so far, summed up over its epochs."""
        return self.running_training_loss

    def predict_output_word(
        self, context_words_list: Sequence[str], topn: int = 10
    ) -> list[tuple[str, float]] | None:
        """The words most likely to stand near these, with their probabilities under the output layer.

        None if no word is known.
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
            raise AttributeError("syn1: only a model with hs=1 has it")
        return self._learned().learned.params.out_vectors

    def _learned(self) -> WordModel:
        if self._model is None:
            raise DataError("this Word2Vec has learned nothing yet: call train first")
        return self._current()

    def init_sims(self, replace: bool = False) -> None:
        """Nothing: lengths are computed when they are needed."""

    def save(
        self,
        fname_or_handle: PathLike,
        separately: list[str] | None = None,
        sep_limit: int = SEP_LIMIT,
        ignore: Iterable[str] = frozenset(),
        pickle_protocol: int = 4,
    ) -> None:
        """Write unhot's model directory, all or nothing. What is said about a pickle has no meaning here."""
        self._current().save(path_of(fname_or_handle))

    @classmethod
    def load(cls, fname: PathLike, mmap: str | None = None, *, rethrow: bool = False) -> Word2Vec:
        """Open a model directory of unhot, memory-mapped whatever `mmap` says. Pickles are not read."""
        refuse_pickle(Path(fname))
        model = load_words(fname)
        out = cls(**gensim_settings(model))
        out._output = model.layer.spec()
        out._vocabulary, out.train_count = model.vocabulary, int(model.history.words > 0)
        out.corpus_total_words = int(model.learned.in_vocabulary.counts.sum())
        out.show(model)
        return out

    def __str__(self) -> str:
        """Words, dimension and first rate."""
        facts = f"vocab={len(self._wv)}, vector_size={self.vector_size}, alpha={self.alpha}"
        return f"{type(self).__name__}<{facts}>"
