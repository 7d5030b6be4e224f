"""What is called while a `Word2Vec` is trained."""

import logging
from dataclasses import dataclass
from typing import Any

from unhot.models.word_model import WordModel
from unhot.train.progress import Progress

logger = logging.getLogger("unhot")

METHODS = {"start": "on_train_begin", "epoch": "on_epoch_end", "done": "on_train_end"}  # by event


class CallbackAny2Vec:
    """The base of callbacks: each method is given the model, and does nothing here."""

    def on_train_begin(self, model: Any) -> None:
        """Before the first epoch."""

    def on_epoch_begin(self, model: Any) -> None:
        """Before each epoch."""

    def on_epoch_end(self, model: Any) -> None:
        """After each epoch."""

    def on_train_end(self, model: Any) -> None:
        """After the last epoch."""


@dataclass
class Relay:
    """Turns what a training tells into gensim's callbacks and its loss."""

    front: Any
    model: WordModel
    callbacks: list[CallbackAny2Vec]
    pairs: int = 0  # of the epochs before this one
    ended: bool = False  # on_train_end was called, and may have changed wv

    def __call__(self, progress: Progress) -> None:
        """Epochs only: chunks are nothing gensim speaks of."""
        if progress.event == "epoch":
            pairs = self.model.history.pairs
            self.front.running_training_loss += (progress.loss or 0.0) * (pairs - self.pairs)
            self.pairs = pairs
        if not self.callbacks or progress.event == "progress":
            return
        self.front.show(self.model)
        names = [METHODS[progress.event]]
        if progress.event != "done" and progress.epoch < progress.epochs:
            names.append("on_epoch_begin")
        for name in names:
            for callback in self.callbacks:
                getattr(callback, name)(self.front)
        self.ended = progress.event == "done"
        if not self.ended and self.front.wv.vectors is not self.model.learned.params.in_vectors:
            logger.warning(
                "wv was changed in a callback: training goes on without the change; "
                "make it in on_train_end, or after train"
            )
