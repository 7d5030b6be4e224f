"""A text classifier: the words of a line, runs of words and character n-grams predict its labels.

    h = sum of w_r x_r / sqrt(sum of w_r^2)     over the rows r of the line
    L = loss(h, labels), with the scores h . o of the output layer over labels

The rows of a line are those of its different words, with the end of the line as a word `</s>`; of its
different runs of 2 to word_ngrams words, hashed to buckets; and of the character n-grams of each word, hashed
to buckets, too. Only what occurs has a row. With weighting=idf a row that df of N lines have weighs
1 + ln((1 + N) / (1 + df)): a common word counts less than a rare one. Rows move by their gradients
(line_engine.py).

In fastText all rows weigh the same, count as often as they occur, and are averaged. Counting words once and
weighing them makes a model of long documents much better, and so does smoothing the labels. Lines are read in
another random order in each epoch, so the order of the file does not matter.

Reference: Joulin et al., Bag of tricks for efficient text classification, 2017.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, FormatError, at_least
from unhot.lines.line_sums import LineModel
from unhot.models.calibrating import temperature_after_training
from unhot.models.engine import EngineData, Wiring
from unhot.models.fitting import FORM, Begins, InEpochs, Note, Reading, Reads, Tells
from unhot.models.label_answers import Estimator, LabelAnswers, LearnedLines
from unhot.models.labelled_source import (
    LabelledSource,
    Row,
    all_labels,
    checked_validation,
    fitting_kind,
    label_id,
    label_kind,
)
from unhot.models.learned_words import learned_from
from unhot.models.line_bags import line_input, list_units, with_line_ends
from unhot.models.line_engine import LabelledLines, LineEngine, LineFeeder
from unhot.models.model import Model, model
from unhot.models.ngram_rows import NO_KEYS, word_rows
from unhot.models.settings import EpochFields, Range, TextFields, VectorFields
from unhot.models.starting_point import (
    StartingPoint,
    check_frozen,
    from_learned,
    from_vectors,
    frozen_words,
)
from unhot.models.text_model import LABELS, M, encoded
from unhot.models.windows import engine_training
from unhot.outputs import LAYERS, OutputLayer, parse_output
from unhot.rows.labelled import LabelledRows
from unhot.rows.paths import paths_of
from unhot.train.checkpoint import Checkpoint
from unhot.train.params import FirstRows
from unhot.train.progress import Callback
from unhot.types import Bytes, Counts, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import Vocabulary

USUAL_EPOCHS, MOST_EPOCHS = 5, 50
FEWEST_STEPS = 10_000  # a small file is read so often that the model sees about so many lines
KEEP_EVERY = 10  # epochs: one over short lines may take no longer than a copy of all rows
SPREAD = 0.1  # input vectors start in (-SPREAD, SPREAD) / dim


class LineData(NamedTuple):
    """Lines to learn from, and others to measure."""

    text: Corpus  # with labels beside it
    held_out: list[Row]  # for validation or calibration
    label_kind: str  # the type of the labels


def fit_lines(
    self: M,
    source: Any,
    labels: Any = None,
    *,
    column: str | None = None,
    start: Vectors | None = None,
    frozen: str | Iterable[str] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool = False,
    callbacks: Sequence[Callback] = (),
    reading: Reading | None = None,
    note: Note | None = None,
    directory: str | os.PathLike[str] | None = None,
    force: bool = False,
    kind: str | None = None,
    header: str | Sequence[str] | None = None,
    separator: str | None = None,
    strict: bool = False,
) -> M:
    """Learn from lines with labels: texts, files, tables, or an encoded `Corpus` with labels beside it.

    labels      the label of each text, or a list of its labels; None: the source has them, in label lines
                (`__label__spam win a prize`) or in a column of a table
    column      the column of a table that holds the texts
    start       vectors to start from, for the words that have one
    frozen      words whose input vectors must not change; "known": all words of `start`
    checkpoint  where and how often to save the state, to `resume` from
    progress    show the progress: a bar on a terminal or in a notebook, elsewhere a line for each epoch
    callbacks   functions called with a `Progress` after every chunk and every epoch
    reading     function called with the bytes read and the total while the text is read
    note        function called with lines about what goes on: compiling, the memory plan, odd input;
                None: the lines are logged or, with `progress`, shown
    directory   where to keep the encoded text for later; None: a temporary directory
    force       read files even if they do not look like text
    kind        text, csv, tsv, jsonl, parquet, arrow, csv-unquoted, tsv-unquoted, instead of what files say
    header      the names of the columns of CSV or TSV that has no header line, such as "label,title,text"
    separator   what is between the fields of CSV or TSV, instead of a comma or a tab
    strict      raise a `DataError` at the first bad row instead of counting it
    """
    return Model.fit(
        self,
        source,
        labels,
        column=column,
        start=start,
        frozen=frozen,
        checkpoint=checkpoint,
        progress=progress,
        callbacks=callbacks,
        reading=reading,
        note=note,
        directory=directory,
        force=force,
        kind=kind,
        header=header,
        separator=separator,
        strict=strict,
    )


@model("classifier", family="classify")
@dataclass(kw_only=True)
class Classifier(Estimator, EpochFields, TextFields, VectorFields, Model[LearnedLines, LabelAnswers]):
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

    starts = True
    own_words = False  # rare words of the text are part of runs
    default_lr = 0.25
    use = "predict with: unhot classify predict {} INPUT -o OUT"

    fit = fit_lines

    def check(self) -> None:
        """Raise a `ConfigError` if a setting is wrong; find the output layer, and how words are cut."""
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

    @contextlib.contextmanager
    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> Iterator[LineData]:
        """Check what is given; read texts and labels, and encode all words, because rare ones are in runs."""
        check_vectors(self.dim, begins)
        if isinstance(reads.source, Cells) or (
            isinstance(reads.source, Corpus) and LABELS not in reads.source.beside
        ):
            raise ConfigError(
                "source: a classifier learns from lines with labels; this source has none beside its text"
            )
        self.layer.read_files()
        how = {name: getattr(reads, name) for name in ("column", "force", *FORM, "strict")}
        share, given = 0.0, self.validation
        if isinstance(given, float):
            share, given = given, None
        pair = given if isinstance(given, tuple) else (given,)
        # a file is read as the source is
        apart = [] if given is None else list(self.rows_of(*pair, **how if paths_of(given) else {}))
        kind = label_kind(reads.labels)
        if isinstance(reads.source, Corpus):
            with encoded(self, reads, tells) as corpus:
                yield LineData(corpus, apart, kind)
            return
        rows = self.rows_of(reads.source, reads.labels, **how)
        source = LabelledSource(rows, share, self.calibration if self.validation is None else 0.0, self.seed)
        read: dict[str, Any] = {"column": None, "strict": False, **dict.fromkeys(FORM)}
        text = replace(reads, source=source.texts(), labels=source.labels, **read)
        with encoded(self, text, tells, min_count=1, max_vocab=None) as corpus:
            for line in rows.report.recognized:
                tells.say(line)
            for line in rows.report.lines():
                tells.warn(line)
            yield LineData(corpus, apart or source.held_out, kind)

    def rows_of(self, source: Any, labels: Any = None, **how: Any) -> Any:
        """Return texts with labels, read with the model's settings."""
        return LabelledRows(source, labels, label_column=self.label_column, prefix=self.label_prefix, **how)

    def training(self, data: LineData, begins: Begins, tells: Tells) -> InEpochs[LearnedLines]:
        """Return a training on the rows of the lines; calibrate what it has learned."""
        text = data.text
        everything, moved = with_line_ends(text.vocabulary, text.sentences)
        units = list_units(text, everything, moved, self.word_ngrams, self.buckets)
        kept = int(np.count_nonzero(everything.counts >= self.min_count))
        kept = min(kept, self.max_vocab or kept)
        if kept == 0:
            raise DataError(f"min_count={self.min_count}: no word occurs so often; choose a smaller number")
        words = Vocabulary(everything.words[:kept], everything.counts[:kept])
        keys = NO_KEYS if begins.learned is None else begins.learned.keys
        made = line_input(everything, units, self.subwords, kept, self.weighting == "idf", keys, self.threads)
        labels, numbers, starts = all_labels(text.beside[LABELS])
        weights = label_weights(self.class_weights, labels)
        together = self.layer.takes_together()
        feeder = LineFeeder(made.lines, numbers, starts, weights, together)
        lines = LabelledLines(feeder, text.words)
        point, frozen = _first_rows(begins, words, labels, self.layer, made.rows.keys)
        source = EngineData(
            text=lines,
            inputs=words,
            targets=labels,
            frozen=frozen,
            rows=made.rows,
            shared="",
            weights=made.weights,
        )
        engine = LineEngine(self, self.wiring(lines), source)
        kind, held_out = fitting_kind(data.label_kind, labels.words), data.held_out
        few = max(USUAL_EPOCHS, min(MOST_EPOCHS, -(-FEWEST_STEPS // max(1, text.sentences))))
        chosen = {} if self.epochs else {"epochs": few}  # a small file needs more epochs

        def finish(learned: LearnedLines) -> LearnedLines:
            if begins.history.stopped:
                chosen["epochs"] = begins.history.position.epoch
            if not self.calibration:
                return learned
            temperature, said = temperature_after_training(self.make_answers(learned), held_out)
            tells.say(said)
            return replace(learned, temperature=temperature)

        if self.validation is not None and not any(
            name in labels.index for _, names in held_out for name in names
        ):
            raise DataError(
                f"validation: none of {len(held_out):,} lines has a label of the lines to learn from; give a "
                "larger share, or other lines"
            )
        return engine_training(
            engine,
            point,
            begins,
            tells,
            usual_lr=self.default_lr,
            epochs=self.epochs or few,
            details={"vocabulary": len(words), "labels": len(labels), "lines": text.sentences},
            keep_every=KEEP_EVERY,
            chosen=chosen,
            whole=lambda learned: LearnedLines(**vars(learned), label_kind=kind),
            measure=None
            if self.validation is None
            else lambda learned: measured(self.make_answers(learned), held_out),
            fixed=("row_keys", "row_weights"),
            finish=finish,
        )

    def wiring(self, lines: LabelledLines | None = None) -> Wiring:
        """Return what predicts what: the rows of a line its labels."""
        targets = 1 if lines is None else int(np.diff(lines.feeder.label_starts).max(initial=1))
        listed = 1 if lines is None else max(int(lines.rows.max(initial=1)), targets)
        return Wiring(LineFeeder, targets=targets, listed=listed, first_rows=FirstRows(SPREAD))

    def warm_up(self) -> None:
        """Compile the training kernel of these settings, or load it from disk."""
        LineEngine.warm_up(self, self.wiring())

    def make_answers(self, learned: LearnedLines) -> LabelAnswers:
        """Return what answers questions about texts; raise a `DataError` if rows and words do not fit."""
        words = learned.in_vocabulary.words
        rows = SubwordRows.of_keys(self.subwords, learned.params.in_vectors, learned.keys, len(words))
        rows, prefix = replace(rows, skips=True), self.label_prefix
        lines = LineModel(words, rows, learned.weights, self.word_ngrams, True, 0.5, prefix)
        return LabelAnswers(learned, lines, self.tokenizer, self.threads)

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data; lines for validation that came from Python are left out."""
        told: dict[str, Any] = {"output": self.layer.spec(), "lr": self.lr or self.default_lr}
        if not isinstance(self.validation, (float, str, type(None))):
            told["validation"] = None
        return super().settings() | told

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make the model from a saved folder; one without the setting `calibration` held out no lines."""
        made = super().from_saved(saved._replace(config={"calibration": 0.0, **saved.config}))
        made.predictor.lines  # noqa: B018 (made now, so that the first answer comes at once)
        return made

    def restore(self, saved: SavedModel) -> LearnedLines:
        """Return what a saved model had learned."""
        words = learned_from(saved, self.layer, self.dim)
        try:
            learned = LearnedLines(
                **vars(words),
                temperature=at_least("temperature", saved.config.get("temperature", 1.0), 1e-6),
                label_kind=fitting_kind(saved.config.get("label_kind", "str"), words.out_vocabulary.words),
            )
            self.make_answers(learned)  # checks the rows
        except (ConfigError, DataError) as error:
            raise FormatError(f"a classifier: {error}; the file is damaged") from error
        return learned


def check_vectors(dim: int, begins: Begins) -> None:
    """Raise a `ConfigError` if a classifier cannot start from what is given."""
    start = begins.start
    check_frozen(begins.frozen, start is not None)
    if start is not None and not isinstance(start, Vectors):
        raise ConfigError(
            f"start={start!r:.80}: a classifier starts from Vectors; open a file with "
            "unhot.Vectors.load, or give model.vectors"
        )
    if start is not None and start.vector_size != dim:
        raise ConfigError(f"dim={dim}: the vectors to start from have dim {start.vector_size}")


def _first_rows(
    begins: Begins, words: Vocabulary, labels: Vocabulary, layer: OutputLayer, keys: Counts
) -> tuple[StartingPoint | None, Bytes]:
    """Return the rows to start from, and 1 for each that must not change: frozen words, not their n-grams."""
    if begins.learned is not None:
        return from_learned(begins.learned, words, labels, layer, keys), begins.learned.frozen
    point = None if begins.start is None else from_vectors(begins.start, words)
    frozen = frozen_words(begins.frozen, words, point)
    if frozen.size:
        frozen = np.where(keys < 0, frozen[np.maximum(-1 - keys, 0)], 0).astype(np.uint8)
    return point and point._replace(in_rows=word_rows(keys, point.in_rows)), frozen


def measured(answers: LabelAnswers, lines: list[Row]) -> tuple[float, str]:
    """Return the mean log loss of lines, and that and the accuracy in words."""
    index, losses = answers.learned.out_vocabulary.index, []
    probabilities = answers.predictor.probabilities([text for text, _ in lines])
    for row, (_, names) in zip(probabilities, lines, strict=True):
        known = [index[name] for name in names if name in index]
        losses += [-np.log(max(row[known].mean(), 1e-12))] if known else []
    best = probabilities.argmax(axis=1)
    right = [answers.labels[label] in names for label, (_, names) in zip(best, lines, strict=True)]
    loss = float(np.mean(losses))
    return loss, f"loss {loss:.4f}, accuracy {np.mean(right):.2%}"


def given_weights(given: Any) -> dict[str, float] | None:
    """Return the weights of labels that were given by name; None: none, or balanced."""
    if given in ("none", "balanced", None):
        return None
    pairs = given
    if isinstance(given, str):
        pairs = dict(pair.rpartition("=")[::2] for pair in given.split(","))
    try:
        return {str(label): at_least("class_weights", float(weight), 0) for label, weight in pairs.items()}
    except (AttributeError, TypeError, ValueError):
        raise ConfigError(
            f"class_weights={given!r:.80}: must be none, balanced, or weights by label: a dict, in the shell "
            "LABEL=WEIGHT,LABEL=WEIGHT"
        ) from None


def label_weights(given: Any, labels: Vocabulary) -> Floats:
    """Return the weight of each label: 1, or so that all labels count alike, or as given."""
    weights = np.ones(len(labels), np.float32)
    named = given_weights(given)
    if named is not None:
        for label, weight in named.items():
            weights[label_id(labels, label)] = weight
    elif given == "balanced":
        weights[:] = labels.counts.sum() / (len(labels) * np.maximum(labels.counts, 1))
    return weights
