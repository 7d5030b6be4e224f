"""gensim's callbacks, which are called while a `Word2Vec` is trained."""

import logging
from dataclasses import dataclass
from typing import Any

from unhot.models.word_model import WordModel
from unhot.train.progress import Progress

logger = logging.getLogger("unhot")

METHODS = {"start": "on_train_begin", "epoch": "on_epoch_end", "done": "on_train_end"}  # by event


class CallbackAny2Vec:
    """The base class of callbacks: each method receives the model, and does nothing by default."""

    def on_train_begin(self, model: Any) -> None:
        """Run before the first epoch."""

    def on_epoch_begin(self, model: Any) -> None:
        """Run before each epoch."""

    def on_epoch_end(self, model: Any) -> None:
        """Run after each epoch."""

    def on_train_end(self, model: Any) -> None:
        """Run after the last epoch."""


@dataclass
class Relay:
    """Turn unhot's progress reports into gensim's callbacks and running loss."""

    front: Any
    model: WordModel
    callbacks: list[CallbackAny2Vec]
    pairs: int = 0  # pairs trained before this epoch
    ended: bool = False  # whether on_train_end was called, which may have changed wv

    def __call__(self, progress: Progress) -> None:
        """Handle one report; reports within an epoch are ignored, because gensim has none."""
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
                "a callback changed wv during training: the change is ignored; "
                "make it in on_train_end, or after train"
            )
