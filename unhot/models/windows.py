"""Training on what stands near: settings, wiring and data to an engine, an engine to its run.

    corpus, walks or cells -> `EngineData` -> an engine -> `LearnedWords`

Words, items and nodes are trained here. A model's `Wiring` says what predicts what. `engine_training` also
trains on labelled lines.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from unhot.errors import ConfigError
from unhot.models.engine import Compiled, Engine, EngineData, Wiring
from unhot.models.fitting import Begins, InEpochs, Tells, plan_of
from unhot.models.learned_words import LearnedWords
from unhot.models.model import Model
from unhot.models.ngram_rows import NO_KEYS, word_rows
from unhot.models.starting_point import (
    StartingPoint,
    check_frozen,
    check_layer,
    from_learned,
    from_vectors,
    frozen_words,
)
from unhot.models.torch_engine import OnTorch
from unhot.outputs import OutputLayer
from unhot.train.epoch_run import Validation
from unhot.train.memory_plan import check_plan
from unhot.vectors.store import Vectors

W = TypeVar("W", bound=LearnedWords)
ENGINES: dict[str, type[Engine]] = {"compiled": Compiled, "torch": OnTorch}


def engine_of(model: Any, wiring: Wiring) -> type[Engine]:
    """Return the engine that trains a model."""
    found: type[Engine] = wiring.engine or ENGINES[model.engine]
    return found


def check_windows(model: Any) -> None:
    """Raise a `ConfigError` if the engine of a model cannot train it."""
    if not isinstance(model.device, str) or not model.device:
        raise ConfigError(f"device={model.device!r}: must be the name of a device, such as cpu or cuda:0")
    wiring = model.wiring()
    engine_of(model, wiring).check(model, wiring)


def warm_up_windows(self: Any) -> None:
    """Compile the training kernel of these settings, or load it from disk."""
    wiring = self.wiring()
    engine_of(self, wiring).warm_up(self, wiring)


def check_machine(model: Any) -> None:
    """Check settings, files and machine before a long text is read."""
    model.layer.read_files()
    check_windows(model)
    engine_of(model, model.wiring()).check_machine(model)


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
    wiring: Wiring,
    data: EngineData,
    begins: Begins,
    tells: Tells,
    **how: Any,
) -> InEpochs[Any]:
    """Return a training on windows; for `how` see `engine_training`."""
    point = _starting_point(begins, data, model.layer)
    frozen = frozen_words(begins.frozen, data.inputs, point)
    if begins.learned is not None:
        frozen = begins.learned.frozen
    counted = "corpus_words" if model.unit == "words" else model.unit
    how["details"] = {"output": model.layer.spec(), "vocabulary": len(data.targets), counted: data.text.words}
    engine = engine_of(model, wiring)(model, wiring, replace(data, frozen=frozen))
    return engine_training(engine, point, begins, tells, **how)


def engine_training(
    engine: Engine,
    point: StartingPoint | None,
    begins: Begins,
    tells: Tells,
    *,
    usual_lr: float,
    epochs: int = 0,
    details: Mapping[str, Any],
    keep_every: int = 1,
    chosen: Mapping[str, Any] | None = None,
    whole: Callable[[LearnedWords], W] = lambda learned: learned,  # type: ignore[assignment, return-value]
    measure: Callable[[W], tuple[float, str]] | None = None,
    fixed: Collection[str] = (),
    finish: Callable[[W], W] = lambda learned: learned,
) -> InEpochs[W]:
    """Return a training by an engine, which begins with the rows of `point`.

    epochs    0: those of the settings
    details   go into the start event
    whole     makes what the model has learned of the words that were learned
    measure   returns the loss of held-out examples and figures in words, for early stopping
    fixed     names of tensors that the training does not change
    finish    is called with what is learned, when all epochs are done
    """
    model = engine.model
    check_plan(engine.memory, len(engine.data.inputs), model.dim)
    learned, validation = engine.begin(point), None
    if measure is not None:
        kept = {} if begins.learned is None else begins.learned.best
        state = {name: array for name, array in learned.tensors().items() if name not in fixed}
        validation = Validation(lambda: measure(whole(learned)), model.patience, state, kept)
    rates: dict[str, Any] = {"lr": model.lr or usual_lr, "usual_lr": usual_lr}
    more: dict[str, Any] = {"epochs": epochs, "keep_every": keep_every, "validation": validation, **details}
    run = engine.run(plan_of(model, begins, tells, engine.memory, **rates, **more))
    return InEpochs(
        run,
        now=lambda: whole(replace(learned, best=run.best)),
        chosen={} if chosen is None else chosen,
        finish=lambda _: finish(whole(replace(learned, squares={}))),
    )


def _starting_point(begins: Begins, data: EngineData, layer: OutputLayer) -> StartingPoint | None:
    old, start = begins.learned or words_of(begins.start), begins.start
    keys = NO_KEYS if data.rows is None else data.rows.keys
    if old is not None:
        return from_learned(old, data.inputs, data.targets, layer, keys)
    if start is None:
        return None
    point = from_vectors(start, data.inputs)
    return point if data.rows is None else point._replace(in_rows=word_rows(keys, point.in_rows))
