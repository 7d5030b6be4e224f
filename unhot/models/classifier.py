"""A text classifier: the words of a line, runs of words and character n-grams predict its labels.

    h = sum of w_r x_r / sqrt(sum of w_r^2)     over the rows r of the line
    L = loss(h, labels), with the scores h . o of the output layer over labels

The rows of a line are those of its different words, with the end of the line as a word `</s>`; of its
different runs of 2 to word_ngrams words, hashed to buckets; and of the character n-grams of each word, hashed
to buckets, too. Only what occurs has a row. With weighting=idf a row that df of N lines have weighs
1 + ln((1 + N) / (1 + df)): a common word counts less than a rare one. Rows move by their gradients
(line_feeder.py).

In fastText all rows weigh the same, count as often as they occur, and are averaged. Counting words once and
weighing them makes a model of long documents much better, and so does smoothing the labels. Lines are read in
another random order in each epoch, so the order of the file does not matter.

Reference: Joulin et al., Bag of tricks for efficient text classification, 2017.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, FormatError, at_least
from unhot.lines.layer_scores import LayerScorer
from unhot.lines.line_sums import LineModel
from unhot.lines.predictor import LinePredictor
from unhot.models.calibrating import calibrate_after_training
from unhot.models.engine import Task, TaskData
from unhot.models.epoch_model import EpochModel
from unhot.models.estimator import Estimator
from unhot.models.fitting import Begins, Reads, Tells
from unhot.models.held_out_rows import Row
from unhot.models.label_weights import given_weights, label_weights
from unhot.models.labelled_source import (
    LabelledSource,
    all_labels,
    checked_validation,
    fitting_kind,
    label_kind,
)
from unhot.models.learned_words import LearnedWords, learned_from
from unhot.models.line_bags import line_input
from unhot.models.line_engine import LabelledLines, LineEngine
from unhot.models.line_units import list_units, with_line_ends
from unhot.models.model import model
from unhot.models.ngram_rows import NO_KEYS, word_rows
from unhot.models.settings import Range
from unhot.models.starting_point import check_frozen, from_learned, from_vectors, frozen_words
from unhot.models.text_model import LABELS, TextModel
from unhot.models.vector_model import VectorModel
from unhot.models.wiring import Wiring
from unhot.outputs import LAYERS, Head, OutputLayer, parse_output
from unhot.tables.labelled import labelled_rows
from unhot.train.epoch_run import EpochRun
from unhot.train.memory_plan import check_plan
from unhot.train.params import FirstRows
from unhot.train.progress import Progress
from unhot.train.validation import Validation
from unhot.types import Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import Vocabulary

USUAL_EPOCHS, MOST_EPOCHS = 5, 50
FEWEST_STEPS = 10_000  # a small file is read so often that the model sees about so many lines
KEEP_EVERY = 10  # epochs
SPREAD = 0.1  # input vectors start in (-SPREAD, SPREAD) / dim


@model("classifier", family="classify")
@dataclass(kw_only=True)
class Classifier(Estimator, EpochModel[LearnedWords], TextModel[LearnedWords], VectorModel[LearnedWords]):
    """A classifier of texts.

    >>> texts = ["good film", "fine film", "bad film", "poor film"] * 20
    >>> model = Classifier(epochs=20).fit(texts, ["pos", "pos", "neg", "neg"] * 20)
    >>> model.predict(["a good one", "how poor"]).tolist()
    ['pos', 'neg']
    """

    dim: Annotated[int, Range(1, 1 << 20)] = 20  # length of each vector
    # number of passes over the lines; 0: 5, or more if there are fewer than 2,000 lines
    epochs: Annotated[int, Range(0, 1 << 30)] = 0
    min_count: Annotated[int, Range(1)] = 1  # words that occur less often have no rows of their own
    output: str | OutputLayer = "softmax:smoothing=0.1"  # output layer over the labels
    word_ngrams: Annotated[int, Range(1, 255)] = 2  # words of the longest runs that have rows
    minn: int = 0  # length of the shortest character n-grams
    maxn: int = 0  # length of the longest character n-grams; 0: use whole words only
    buckets: Annotated[int, Range(1, 1 << 27)] = 2_000_000  # rows that runs and n-grams are hashed to
    # how much a row counts: idf: rows that many lines have count less; none: all count alike
    weighting: Literal["idf", "none"] = "idf"
    label_prefix: str = "__label__"  # what a token begins with if it is a label, in label lines
    label_column: str | None = None  # the column of the labels, in tables; label or labels by default
    # the weight of a line by its label: none, balanced (labels count alike), or LABEL=WEIGHT,...
    class_weights: Any = "none"
    # lines to measure after each epoch, for early stopping: a share of the lines, or a file
    validation: Any = None
    # with validation: stop after so many epochs without a better one, and keep the best
    patience: Annotated[int, Range(1)] = 3
    # the share of the lines that is held out to calibrate probabilities, at most 2,000 lines, and none if it
    # is fewer than 200; the model does not learn from them. With validation, its lines do this. 0: do not
    # calibrate
    calibration: Annotated[float, Range(0, 0.5)] = 0.02

    unit = "words"
    starts = True
    default_lr = 0.25
    use = "predict with: unhot classify predict {} INPUT -o OUT"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self.layer = parse_output(self.output).for_labels()
        if not self.layer.compiled:
            able = ", ".join(sorted(name for name, kind in LAYERS.items() if kind.compiled))
            raise ConfigError(f"output={self.layer.name}: a classifier cannot use it; choose one of {able}")
        self.subwords = Subwords(minn=self.minn, maxn=self.maxn, buckets=self.buckets)
        self.minn, self.maxn = self.subwords.minn, self.subwords.maxn
        for name in ("label_prefix", "label_column"):
            value = getattr(self, name)
            if not isinstance(value, str) and not (name == "label_column" and value is None):
                raise ConfigError(f"{name}={value!r}: must be text")
        given_weights(self.class_weights)
        self.validation = checked_validation(self.validation)
        self.temperature = 1.0  # divides scores; fitted on held-out lines
        self.label_kind = "str"
        self._trained_epochs: int | None = None  # the number of epochs, once it is known
        self._predictor: LinePredictor | None = None

    @property
    def usual_lr(self) -> float:
        """The default learning rate."""
        return self.default_lr

    @property
    def all_epochs(self) -> int:
        """The number of passes over the lines."""
        return self._trained_epochs or self.epochs or USUAL_EPOCHS

    def check_begins(self, begins: Begins) -> None:
        """Raise a `ConfigError` if the model cannot start from what is given."""
        start = begins.start
        check_frozen(begins.frozen, start is not None)
        if start is not None and not isinstance(start, Vectors):
            raise ConfigError(
                f"start={start!r:.80}: a classifier starts from Vectors; open a file with "
                "unhot.Vectors.load, or give model.vectors"
            )
        if start is not None and start.vector_size != self.dim:
            raise ConfigError(f"dim={self.dim}: the vectors to start from have dim {start.vector_size}")

    @contextlib.contextmanager
    def open_input(self, reads: Reads, tells: Tells) -> Iterator[Corpus]:
        """Read texts and labels, and encode them."""
        if isinstance(reads.source, Cells) or (
            isinstance(reads.source, Corpus) and LABELS not in reads.source.beside
        ):
            raise ConfigError(
                "source: a classifier learns from lines with labels; this source has none beside its text"
            )
        self.layer.check_files()
        if isinstance(self.validation, str):
            self.rows_of(self.validation)  # raises an error now if there is no such file
        self._held_out: list[tuple[str, list[str]]] = []
        self.label_kind = label_kind(reads.labels)
        if isinstance(reads.source, Corpus):
            with self.open_text(reads, tells) as corpus:
                yield corpus
            return
        rows = self.rows_of(reads.source, reads.labels, column=reads.column, force=reads.force)
        share = self.validation if isinstance(self.validation, float) else 0.0
        calibration = self.calibration if self.validation is None else 0.0
        source = LabelledSource(rows, share, calibration, self.seed)
        text = replace(reads, source=source.texts(), labels=source.labels, column=None)
        with self.open_text(text, tells) as corpus:
            if note := rows.report.note():
                tells.warn(note)
            self._held_out = source.held_out
            yield corpus

    def rows_of(self, source: Any, labels: Any = None, **how: Any) -> Any:
        """Return texts with labels, read with the model's settings."""
        return labelled_rows(source, labels, label_column=self.label_column, prefix=self.label_prefix, **how)

    def encoding(self, reads: Reads) -> dict[str, Any]:
        """Return how the text is encoded: with all its words, because rare words are part of runs."""
        return {**super().encoding(reads), "min_count": 1, "max_vocab": None, "counts": None, "known": None}

    def begin(self, data: Corpus, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the rows of the lines, the engine and its run."""
        everything, moved = with_line_ends(data.vocabulary, data.sentences)
        units = list_units(data, everything, moved, self.word_ngrams, self.buckets)
        kept = int(np.count_nonzero(everything.counts >= self.min_count))
        kept = min(kept, self.max_vocab or kept)
        if kept == 0:
            raise DataError(f"min_count={self.min_count}: no word occurs so often; choose a smaller number")
        words = Vocabulary(everything.words[:kept], everything.counts[:kept])
        old = self.learned.keys if begins.resumed else NO_KEYS
        made = line_input(everything, units, self.subwords, kept, self.weighting == "idf", old, self.threads)
        labels, numbers, starts = all_labels(data.beside[LABELS])
        self.label_kind = fitting_kind(self.label_kind, labels.words)
        weights = label_weights(self.class_weights, labels)
        lines = LabelledLines(made.lines, numbers, starts, weights, data.words)
        self._count_epochs(begins, data.sentences)
        task = self.task(lines)
        task_data = TaskData(
            data=lines,
            in_vocabulary=words,
            out_vocabulary=labels,
            frozen=self._frozen_rows(begins, words, made.rows.keys),
            rows=made.rows,
            weights=made.weights,
        )
        engine = LineEngine(task, task_data)
        check_plan(engine.memory, len(words), self.dim)
        facts = {"vocabulary": len(words), "labels": len(labels), "lines": data.sentences}
        # an epoch over short lines may take no longer than a copy of all rows
        plan = replace(self.plan(begins, tells, engine.memory, **facts), keep_every=KEEP_EVERY)
        held_out = self._checked_lines(labels)
        if self.calibration:
            calibrate = functools.partial(self._calibrate, held_out, tells)
            plan = replace(plan, callbacks=[*plan.callbacks, calibrate])
        self.keep(engine.begin(self._starting_point(begins, words, labels, made.rows.keys)))
        if not begins.resumed:
            self.temperature = 1.0
        if self.validation is not None:
            texts, truth = [text for text, _ in held_out], [names for _, names in held_out]
            measure = functools.partial(self._measure, texts, truth)
            state = {**self.learned.params._asdict(), "seen": self.learned.seen}
            plan = replace(plan, validation=Validation(measure, self.patience, state))
        return engine.run(plan)

    def _calibrate(self, held_out: list[Row], tells: Tells, progress: Progress) -> None:
        """Fit the temperature when the training is finished."""
        if progress.event == "done" and progress.details.get("reason") == "finished":
            self.forget()
            tells.say(calibrate_after_training(self, held_out))

    def _checked_lines(self, labels: Vocabulary) -> list[tuple[str, list[str]]]:
        """Return the lines of `_validation_lines`; raise a `DataError` if none has one of the labels."""
        held_out = self._validation_lines()
        if self.validation is None or any(name in labels.index for _, names in held_out for name in names):
            return held_out
        raise DataError(
            f"validation: none of {len(held_out):,} lines has a label of the lines to learn from; give a "
            "larger share, or other lines"
        )

    def _validation_lines(self) -> list[tuple[str, list[str]]]:
        """Return the lines to measure after each epoch, and their labels."""
        if self.validation is None or isinstance(self.validation, float):
            return self._held_out
        given = self.validation if isinstance(self.validation, tuple) else (self.validation,)
        return list(self.rows_of(*given))

    def _measure(self, texts: list[str], truth: list[list[str]]) -> tuple[float, str]:
        """Return the mean log loss of lines with the current params, and both figures in words."""
        self.forget()
        index = self.learned.out_vocabulary.index
        probabilities = np.concatenate([*self.predictor.over(texts, self._all_probabilities)])
        best, losses = probabilities.argmax(axis=1), []
        for row, names in zip(probabilities, truth, strict=True):
            known = [index[name] for name in names if name in index]
            losses += [-np.log(max(row[known].mean(), 1e-12))] if known else []
        right = [self.labels[label] in names for label, names in zip(best, truth, strict=True)]
        loss = float(np.mean(losses))
        return loss, f"loss {loss:.4f}, accuracy {np.mean(right):.2%}"

    def _all_probabilities(self, hidden: Floats, squares: Floats) -> Any:
        return self.predictor.scorer.probabilities(hidden[:, : self.dim])

    def _count_epochs(self, begins: Begins, lines: int) -> None:
        """Set the number of epochs: a small file needs more of them."""
        if not begins.resumed:
            few = max(USUAL_EPOCHS, min(MOST_EPOCHS, -(-FEWEST_STEPS // max(1, lines))))
            self._trained_epochs = self.epochs or few

    def _starting_point(self, begins: Begins, words: Vocabulary, labels: Vocabulary, keys: Any) -> Any:
        if begins.resumed:
            return from_learned(self.learned, words, labels, self.layer, keys)
        if begins.start is None:
            return None
        point = from_vectors(begins.start, words)
        return point._replace(in_rows=word_rows(keys, point.in_rows))

    def _frozen_rows(self, begins: Begins, words: Vocabulary, keys: Any) -> Any:
        """Return 1 for each row that must not change: those of words that are frozen, not their n-grams."""
        if begins.resumed:
            return self.learned.frozen
        point = None if begins.start is None else from_vectors(begins.start, words)
        frozen = frozen_words(begins.frozen, words, point)
        return (
            frozen
            if not frozen.size
            else np.where(keys < 0, frozen[np.maximum(-1 - keys, 0)], 0).astype(np.uint8)
        )

    def task(self, lines: LabelledLines | None = None) -> Task:
        """Return the settings that engines need."""
        together = self.layer.takes_together()
        targets = 1 if lines is None else lines.most_labels
        listed = 1 if lines is None else max(int(lines.rows.max(initial=1)), targets)
        feeder = functools.partial(LabelledLines.feeder, together=together)
        wiring = Wiring(feeder, None, targets=targets, listed=listed, first_rows=FirstRows(SPREAD))
        return Task(
            name=self.name,
            layer=self.layer,
            wiring=wiring,
            dim=self.dim,
            seed=self.seed,
            threads=self.threads,
        )

    def warm_up(self) -> None:
        """Compile the training kernel of these settings, or load it from disk."""
        LineEngine.warm_up(self.task())

    def ended(self) -> None:
        """Clean up after a training; if it stopped early, it is complete."""
        super().ended()
        if self.history.stopped:
            self._trained_epochs = self.history.position.epoch

    @property
    def head(self) -> Head:
        """The trained output layer."""
        params, seen = self.learned.params, self.learned.seen
        ln_z = float(params.ln_z[0]) if params.ln_z.size else 0.0
        counts = seen - 1 if seen.size else self.learned.out_vocabulary.counts
        return Head(
            self.layer, counts, params.out_vectors, params.out_bias if params.out_bias.size else None, ln_z
        )

    def subword_rows(self) -> SubwordRows:
        """Return the rows of words, runs and n-grams."""
        learned = self.learned
        words = len(learned.in_vocabulary)
        rows = SubwordRows.of_keys(self.subwords, learned.params.in_vectors, learned.keys, words)
        return replace(rows, skips=True)

    def make_store(self, name: str) -> Vectors:
        """Make the vectors of words or of labels."""
        words = self.learned.in_vocabulary
        if name == "in_vectors":
            return SubwordVectors(words.words, words.counts, self.subword_rows())
        if not self.layer.rows_are_words:
            raise ConfigError(f"{name}: {self.layer.name} has no output row for each label")
        labels = self.learned.out_vocabulary
        return Vectors(labels.words, self.learned.params.out_vectors, labels.counts)

    def forget(self) -> None:
        """Drop what was made of params that have changed since."""
        super().forget()
        self._predictor = None

    @property
    def scorer(self) -> LayerScorer:
        """What turns the vectors of lines into probabilities of labels."""
        params = self.learned.params
        return LayerScorer(self.head, params.out_vectors, params.out_bias, self.temperature)

    @property
    def predictor(self) -> LinePredictor:
        """What predicts labels; it is made once and kept."""
        if self._predictor is None:
            words, weights = self.learned.in_vocabulary.words, self.learned.weights
            how = LineModel(
                words, self.subword_rows(), weights, self.word_ngrams, True, 0.5, self.label_prefix
            )
            self._predictor = LinePredictor(how, self.scorer, self.tokenizer, self.threads)
        return self._predictor

    def config(self) -> dict[str, Any]:
        """Return the settings as plain data, from which the model can be made again."""
        settings = {**super().config(), "output": self.layer.spec(), "lr": self.first_lr}
        settings["epochs"] = self._trained_epochs or self.epochs
        if not isinstance(self.validation, (float, str, type(None))):
            settings["validation"] = None  # texts from Python
        return settings

    def facts(self) -> dict[str, Any]:
        """Return what is saved besides the settings."""
        facts: dict[str, Any] = {"scheme": "fasttext", "hashes": 1, "skips": True}
        return facts | {"temperature": self.temperature, "label_kind": self.label_kind}

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors to save; the mask of frozen rows only while the training is incomplete."""
        learned = self.learned
        return (learned._replace(frozen=learned.frozen[:0]) if complete else learned).tensors()

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make the model from a saved folder; one without the setting `calibration` held out no lines."""
        return super().from_saved(saved._replace(config={"calibration": 0.0, **saved.config}))

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model."""
        self.keep(learned_from(saved, self.layer))
        try:
            self.temperature = at_least("temperature", saved.config.get("temperature", 1.0), 1e-6)
            self.label_kind = fitting_kind(saved.config.get("label_kind", "str"), self.labels)
            self.predictor.lines  # noqa: B018 (checks the rows; made now, so that the first answer comes at once)
        except (ConfigError, DataError) as error:
            raise FormatError(f"a classifier: {error}; the file is damaged") from error
        self._trained_epochs = self.epochs
