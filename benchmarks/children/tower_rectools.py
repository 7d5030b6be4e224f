"""Train SASRec of RecTools on the histories of a split, and write down its recommendations."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytorch_lightning as lightning
import torch
from peer_job import LISTED, Clock, Split, answer
from rectools import Columns
from rectools.dataset import Dataset
from rectools.models import SASRecModel

job = json.loads(sys.argv[1])
split, clock = Split(job["folder"]), Clock()
settings = job["settings"]
torch.set_num_threads(1)
lightning.seed_everything(job["seed"], verbose=False)


class Watch(lightning.Callback):  # type: ignore[misc]
    """Keeps the time of training alone."""

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Start the clock."""
        clock.start()

    def on_train_end(self, trainer: Any, module: Any) -> None:
        """Stop it."""
        clock.stop()


def trainer() -> Any:
    """Return the trainer that RecTools makes by default, with a clock."""
    return lightning.Trainer(
        max_epochs=settings["epochs"],
        min_epochs=settings["epochs"],
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        enable_checkpointing=False,
        devices=1,
        accelerator="cpu",
        callbacks=[Watch()],
    )


events = split.events(with_targets=False)
frame = pd.DataFrame({Columns.User: events["user"], Columns.Item: events["item"], Columns.Weight: 1.0})
frame[Columns.Datetime] = pd.to_datetime(events["place"], unit="s")
data = Dataset.construct(frame)
model = SASRecModel(
    n_factors=settings["dim"],
    n_blocks=settings["blocks"],
    n_heads=settings["heads"],
    dropout_rate=settings["dropout"],
    session_max_len=settings["length"],
    batch_size=settings["batch"],
    loss="softmax",
    get_trainer_func=trainer,
)
model.fit(data)
found = model.recommend(np.arange(len(split.histories)), data, k=LISTED, filter_viewed=True)
lists = np.full((len(split.histories), LISTED), -1, np.int32)
lists[found[Columns.User].to_numpy(), found[Columns.Rank].to_numpy() - 1] = found[Columns.Item].to_numpy()
answer(job, lists, clock, ["rectools", "torch", "pytorch-lightning", "numpy"])
