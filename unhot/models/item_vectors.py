"""What the recommenders with vectors of items share: how they begin, are watched, answer and are read back.

With a split, validation is asked after each epoch. The best epoch is kept, and the training stops when no
better one comes.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from unhot.items.ranking import mean_ndcg
from unhot.logs.log import Log
from unhot.models.engine import EngineData, Wiring
from unhot.models.fitting import Begins, InEpochs, Reads, Tells
from unhot.models.item_answers import ItemAnswers, LearnedItems, items_from
from unhot.models.learned_words import LearnedWords
from unhot.models.log_data import LogData, log_data
from unhot.models.text_model import check_scratch, compiling
from unhot.models.type_vectors import LearnedTypes
from unhot.models.windows import (
    check_machine,
    check_start,
    window_training,
)
from unhot.vectors.formats.directory import SavedModel

CASES = 2_000  # questions that are asked after each epoch


@contextlib.contextmanager
def prepare_items(self: Any, reads: Reads, begins: Begins, tells: Tells) -> Iterator[LogData]:
    """Read the log, compile, and find the number of epochs if the model is fitted again."""
    check_start(self, begins) if self.starts else check_scratch(self, begins)
    check_machine(self)
    with log_data(self, reads, tells) as data:
        compiling(self, tells)()
        if begins.learned is not None:
            yield data._replace(epochs_found=begins.learned.epochs_found)
        else:
            yield data._replace(epochs_found=best_epochs(self, data.split.log, tells) if self.refit else None)


def best_epochs(model: Any, log: Log, tells: Tells) -> int | None:
    """Train a copy of a model on train, and return the number of epochs that is best on validation."""
    trial = dataclasses.replace(model, refit=False, with_users=False)
    trial.fit(log, callbacks=tells.callbacks, note=tells.note)
    if trial.history.interrupted:
        raise KeyboardInterrupt
    losses = trial.history.validation
    found = int(np.argmin(losses)) + 1 if losses else None
    if found is not None:
        tells.say(f"best on validation: {found} epochs; now learning from all but the test")
    return found


def item_training(
    model: Any,
    wiring: Wiring,
    data: LogData,
    windows: EngineData,
    begins: Begins,
    tells: Tells,
    *,
    usual_lr: float,
    types: LearnedTypes | None = None,
    kind: Callable[..., LearnedItems] = LearnedItems,
) -> InEpochs[LearnedItems]:
    """Return a training on windows of items, which is watched on validation if there is a split."""

    def whole(words: LearnedWords) -> LearnedItems:
        known: dict[str, Any] = {"record": data.record, "epochs_found": data.epochs_found, "types": types}
        return kind(**vars(words), **known)

    def measure(learned: LearnedItems) -> tuple[float, str]:
        assert data.watched is not None
        answers = model.make_answers(learned)
        seen = data.watched.exclude_seen
        seen = answers.leaves_out_seen if seen is None else seen
        found = mean_ndcg(answers, cases, exclude_seen=seen)
        return -found, f"NDCG@10 {100 * found:.2f} % of {cases.ends.size:,} cases"

    cases: Any = None if data.watched is None else data.watched.cases.sample(CASES)
    return window_training(
        model,
        wiring,
        windows,
        begins,
        tells,
        usual_lr=usual_lr,
        epochs=data.epochs_found or model.epochs,
        chosen={"lr": model.lr or usual_lr, "output": model.layer.spec()},
        whole=whole,
        measure=measure if cases is not None and cases.ends.size else None,
    )


def answers_of_items(self: Any, learned: LearnedItems) -> ItemAnswers:
    """Return what answers by the vectors of items."""
    return ItemAnswers(self, learned, leaves_out_seen=self.leaves_out_seen(learned.record))


def restore_items(self: Any, saved: SavedModel) -> LearnedItems:
    """Return what a saved model had learned."""
    return items_from(saved, self.layer, self.dim)


def predict_item(self: Any, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
    """Return the items most likely to stand near the given ones, with their probabilities."""
    found: list[tuple[str, float]] = self.item_answers.predict_word(context, topn)
    return found
