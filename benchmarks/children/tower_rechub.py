"""Train YouTube-DNN or MIND of torch-rechub on the histories of a split, and write down its recommendations.

torch-rechub holds out the last event of each user by itself, so its table has the targets, too.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
from typing import Any

import numpy as np
import pandas as pd
import torch
from peer_job import Clock, Split, answer
from torch_rechub.basic.features import SequenceFeature, SparseFeature
from torch_rechub.models.matching import MIND, YoutubeDNN
from torch_rechub.trainers import MatchTrainer
from torch_rechub.utils.data import MatchDataGenerator, df_to_dict
from torch_rechub.utils.match import gen_model_input, generate_seq_feature_match

job = json.loads(sys.argv[1])
split, clock = Split(job["folder"]), Clock()
settings = job["settings"]
torch.set_num_threads(1)
for seed in (random.seed, np.random.seed, torch.manual_seed):
    seed(job["seed"])
events = split.events(with_targets=True)
table = pd.DataFrame({"user": events["user"] + 1, "item": events["item"] + 1, "time": events["place"]})
users, items = table[["user"]].drop_duplicates(), table[["item"]].drop_duplicates().sort_values("item")
many, dim = {"user": len(users) + 1, "item": split.items + 1}, settings["dim"]


def sequence(name: str, pooling: str) -> Any:
    """Return items with the vectors of `item`; 0 is padding."""
    return SequenceFeature(name, many["item"], dim, pooling=pooling, shared_with="item", padding_idx=0)


whole = [SparseFeature("item", many["item"], dim, padding_idx=0)]
drawn = [sequence("neg_items", "concat")]
if settings["model"] == "mind":
    model = MIND(
        [SparseFeature("user", many["user"], dim)],  # it has to have one
        [sequence("hist_item", "concat")],
        whole,
        drawn,
        max_length=settings["length"],
        temperature=settings["temperature"],
        interest_num=settings["interests"],
        dynamic_interest=True,
    )
else:
    layers = {"dims": [settings["units"], dim]}
    means = [sequence("hist_item", "mean")]
    model = YoutubeDNN(means, whole, drawn, user_params=layers, temperature=settings["temperature"])
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    tables = generate_seq_feature_match(table, "user", "item", "time", mode=2, neg_ratio=settings["k"])
    side = "post" if settings["model"] == "mind" else "pre"  # padding, as in the examples of torch-rechub
    learned, asked = (
        gen_model_input(each, users, "user", items, "item", settings["length"], side, "pre")
        for each in (tables[0], tables[1].sort_values("user"))
    )
    data = MatchDataGenerator(learned, np.zeros(len(learned["item"]), np.int64))
    batches = data.generate_dataloader(asked, df_to_dict(items), settings["batch"], num_workers=0)
    with tempfile.TemporaryDirectory() as folder:
        runner = MatchTrainer(model, mode=2, n_epoch=settings["epochs"], model_path=folder)
        clock.start()
        runner.fit(batches[0])
        clock.stop()
        user_rows = runner.inference_embedding(model, "user", batches[1], folder).numpy()
        item_rows = runner.inference_embedding(model, "item", batches[2], folder).numpy()
known = items["item"].to_numpy() - 1


def score(users: range) -> Any:
    """Return the scores of all items, by the best interest if there are several."""
    vectors = user_rows[users.start : users.stop]
    vectors = vectors.reshape(len(users), -1, vectors.shape[-1])
    there = np.abs(vectors).sum(axis=2, keepdims=True) > 0  # a short history has fewer interests
    products = np.where(there, vectors @ item_rows.T, -np.inf).max(axis=1)
    scores = np.full((len(users), split.items), -np.inf, np.float32)
    scores[:, known] = products
    return scores


answer(job, split.best_unseen(score), clock, ["torch-rechub", "torch", "numpy"])
