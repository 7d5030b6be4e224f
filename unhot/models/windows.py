"""Training on what stands near: settings and data to a task, a task to an engine and its run.

    corpus, walks or cells -> `TaskData` -> an engine -> `LearnedWords`

Words, items and nodes are trained here. A model's `Wiring` says what predicts what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from unhot.errors import ConfigError, FormatError
from unhot.kernels.windows import Window
from unhot.models.compiled_engine import Compiled
from unhot.models.engine import Engine, TaskData, WindowTask
from unhot.models.fitting import Begins, Tells
from unhot.models.learned_words import LearnedWords, check_dim
from unhot.models.model import Model
from unhot.models.ngram_rows import NO_KEYS, NgramRows, word_rows
from unhot.models.planning import plan_of
from unhot.models.starting_point import (
    StartingPoint,
    check_frozen,
    check_layer,
    from_learned,
    from_vectors,
    frozen_words,
)
from unhot.models.state import InEpochs
from unhot.models.torch_engine import OnTorch
from unhot.models.wiring import Wiring
from unhot.train.memory_plan import check_plan
from unhot.train.validation import Validation
from unhot.types import Ids
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

W = TypeVar("W", bound=LearnedWords)
NEEDED = ("in_vectors", "out_vectors")
ENGINES: dict[str, type[Engine[WindowTask]]] = {"compiled": Compiled, "torch": OnTorch}


@dataclass(frozen=True, kw_only=True)
class WindowData:
    """What a training on windows learns from."""

    text: Any  # a Corpus, walks or Cells
    inputs: Vocabulary | None = None  # what has an input row; None: the words of the text
    rows: NgramRows | None = None  # the input rows that make up each word; None: one row for each word
    shared: str = "n-gram buckets"  # what the rows are called that several words have
    beside: Sequence[
        Ids
    ] = ()  # for each shard a number for each sentence, which feeders find in `Text.beside`


def window_task(
    model: Any, wiring: Wiring, window: Window | None = None, engine: type[Engine[WindowTask]] | None = None
) -> WindowTask:
    """Return the settings that engines need; by default the window and the engine are those of the model."""
    return WindowTask(
        name=model.name,
        layer=model.layer,
        wiring=wiring,
        window=window or Window(model.window, model.shrink),
        sample=model.sample,
        dim=model.dim,
        seed=model.seed,
        threads=model.threads,
        device=model.device,
        batch=model.batch,
        engine=engine or ENGINES[model.engine],
    )


def check_windows(model: Any) -> None:
    """Raise a `ConfigError` if the engine of a model cannot train it."""
    if not isinstance(model.device, str) or not model.device:
        raise ConfigError(f"device={model.device!r}: must be the name of a device, such as cpu or cuda:0")
    task = model.task()
    task.engine.check(task)


def warm_up_windows(self: Any) -> None:
    """Compile the training kernel of these settings, or load it from disk."""
    task = self.task()
    task.engine.warm_up(task)


def check_vectors(saved: SavedModel, dim: int) -> None:
    """Raise a `FormatError` unless a saved model has input and output vectors of its dim."""
    name = saved.config.get("model")
    if missing := [each for each in NEEDED if each not in saved.tensors]:
        raise FormatError(f"a {name} model has no {' and no '.join(missing)}: read it with Vectors.load")
    check_dim(saved, dim)


def check_machine(task: WindowTask) -> None:
    """Check settings, files and machine before a long text is read."""
    task.layer.check_files()
    task.engine.check(task)
    task.engine.check_machine(task)


def check_start(model: Any, begins: Begins, *, bags: bool = False) -> None:
    """Raise a `ConfigError` if a model cannot start from what is given; `bags`: its words share rows."""
    start, frozen = begins.start, begins.frozen
    if frozen is not None and bags:
        raise ConfigError(
            f"frozen={frozen!r:.80}: words of {model.name} share n-grams with other words, so no vector "
            "can stay fixed; leave frozen out"
        )
    check_frozen(frozen, start is not None)
    if start is None:
        return
    old = words_of(start)
    if old is None and not isinstance(start, Vectors):
        raise ConfigError(
            f"start={start!r:.80}: must be Vectors or a model; open a file with unhot.Vectors.load or "
            "unhot.load"
        )
    dim = start.vectors.shape[1] if old is None else start.dim
    if dim != model.dim:
        raise ConfigError(f"dim={model.dim}: the vectors to start from have dim {dim}; use dim={dim}")
    if old is not None:
        if old.keys.size and not bags:
            raise ConfigError(
                f"start: words of {start.name} are made of n-grams, which {model.name} does not have; "
                "start from its vectors"
            )
        check_layer(model.layer, old.layer)


def words_of(start: Any) -> LearnedWords | None:
    """Return what a model to start from has learned; None if it is no model of windows."""
    if not isinstance(start, Model) or start.family == "classify":
        return None
    return start.learned if isinstance(start.learned, LearnedWords) else None


def old_keys(begins: Begins) -> Any:
    """Return the keys of the rows that a training starts from, see `NgramRows`."""
    old = begins.learned or words_of(begins.start)
    return NO_KEYS if old is None else old.keys


def window_training(
    model: Any,
    task: WindowTask,
    data: WindowData,
    begins: Begins,
    tells: Tells,
    *,
    lr: float,
    usual_lr: float,
    epochs: int = 0,
    chosen: Mapping[str, Any] | None = None,
    whole: Callable[[LearnedWords], W] = lambda learned: learned,  # type: ignore[assignment, return-value]
    measure: Callable[[W], tuple[float, str]] | None = None,
) -> InEpochs[W]:
    """Return a training on windows.

    whole     makes what the model has learned of the words that were learned
    measure   returns the loss of held-out examples and figures in words, for early stopping
    """
    targets, rows = data.text.vocabulary, data.rows
    old = begins.learned
    inputs = data.inputs or targets
    point = _starting_point(begins, inputs, targets, task, rows)
    frozen = frozen_words(begins.frozen, inputs, point) if old is None else old.frozen
    made = task.engine(
        task,
        TaskData(
            data=data.text,
            in_vocabulary=inputs,
            out_vocabulary=targets,
            frozen=frozen,
            rows=rows,
            shared=data.shared,
            beside=data.beside,
        ),
    )
    check_plan(made.memory, len(inputs), model.dim)
    learned = made.begin(point)
    validation = None
    if measure is not None:
        kept = {} if old is None else old.best
        validation = Validation(lambda: measure(whole(learned)), model.patience, learned.tensors(), kept)
    counted = "corpus_words" if model.unit == "words" else model.unit
    details = {"output": task.layer.spec(), "vocabulary": len(targets), counted: data.text.words}
    how: dict[str, Any] = {"lr": lr, "usual_lr": usual_lr, "epochs": epochs, "validation": validation}
    run = made.run(plan_of(model, begins, tells, made.memory, **how, **details))
    return InEpochs(
        run,
        now=lambda: whole(replace(learned, best=run.best)),
        chosen=chosen or {},
        finish=lambda _: whole(replace(learned, squares={})),
    )


def _starting_point(
    begins: Begins, inputs: Vocabulary, targets: Vocabulary, task: WindowTask, rows: NgramRows | None
) -> StartingPoint | None:
    old, start = begins.learned or words_of(begins.start), begins.start
    if old is not None:
        return from_learned(old, inputs, targets, task.layer, NO_KEYS if rows is None else rows.keys)
    if start is None:
        return None
    point = from_vectors(start, inputs)
    return point if rows is None else point._replace(in_rows=word_rows(rows.keys, point.in_rows))
