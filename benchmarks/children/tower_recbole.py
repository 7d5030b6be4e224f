"""Train GRU4Rec of RecBole on the histories of a split, and write down its recommendations.

RecBole holds out the last event of each user by itself, so its file has the targets, too.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peer_job import Clock, Split, answer
from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.trainer import Trainer
from recbole.utils import get_model, init_seed
from recbole.utils.case_study import full_sort_scores

job = json.loads(sys.argv[1])
del sys.argv[1:]  # RecBole reads settings there
split, clock = Split(job["folder"]), Clock()
settings = job["settings"]
torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # logs go to the working directory
    file = Path(folder) / "log" / "log.inter"
    file.parent.mkdir()
    events = split.events(with_targets=True)
    rows = zip(events["user"].tolist(), events["item"].tolist(), events["place"].tolist(), strict=True)
    lines = ["user_id:token\titem_id:token\ttimestamp:float", *("\t".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    given: dict[str, Any] = {
        **{"data_path": folder, "checkpoint_dir": folder, "use_gpu": False, "seed": job["seed"]},
        **{"USER_ID_FIELD": "user_id", "ITEM_ID_FIELD": "item_id", "TIME_FIELD": "timestamp"},
        "load_col": {"inter": ["user_id", "item_id", "timestamp"]},
        "eval_args": {"split": {"LS": "test_only"}, "order": "TO", "mode": "full", "group_by": "user"},
        **{"train_neg_sample_args": None, "loss_type": "CE", "epochs": settings["epochs"]},
        **{"embedding_size": settings["dim"], "hidden_size": settings["units"], "num_layers": 1},
        **{"dropout_prob": settings["dropout"], "MAX_ITEM_LIST_LENGTH": settings["length"]},
        **{"train_batch_size": settings["batch"], "show_progress": False, "state": "ERROR"},
    }
    config = Config(model="GRU4Rec", dataset="log", config_dict=given)
    init_seed(config["seed"], config["reproducibility"])
    data = create_dataset(config)
    train, _, test = data_preparation(config, data)
    model = get_model(config["model"])(config, train.dataset)
    runner = Trainer(config, model)
    clock.start()
    runner.fit(train, saved=False, show_progress=False)
    clock.stop()
names = np.arange(split.items).astype(str)
item_ids, user_ids = data.field2token_id["item_id"], data.field2token_id["user_id"]
columns = [item_ids.get(name, 0) for name in names]  # 0 is padding, whose score is -inf


def score(users: range) -> Any:
    """Return the scores of all items."""
    found = full_sort_scores([user_ids[str(user)] for user in users], model, test)
    return found.numpy()[:, columns]


answer(job, split.best_unseen(score), clock, ["recbole", "torch", "numpy"])
