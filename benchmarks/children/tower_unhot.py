"""Train a tower of unhot on the histories of a split, and write down its recommendations."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from peer_job import LISTED, Clock, Split, answer

from unhot.models.load import models_of

job = json.loads(sys.argv[1])
split, clock = Split(job["folder"]), Clock()


def watch(progress: Any) -> None:
    """Keep the time of training alone."""
    if progress.event == "start":
        clock.start()
    elif progress.event == "done":
        clock.stop()


settings = {**job["settings"], "seed": job["seed"], "threads": 1, "format": "user-sessions"}
newest = settings.pop("newest", 0)  # how many of the last events of each user are learned from; 0: all
kind: Any = models_of("recommend")[settings.pop("model")]
with tempfile.TemporaryDirectory() as folder:
    learned = Path(folder) / "histories.txt"
    lines = [" ".join(map(str, [f"u{user}", *line[-newest:]])) for user, line in enumerate(split.histories)]
    learned.write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = kind(**settings).fit(str(learned), callbacks=[watch], note=lambda line: None)
asked = [[*map(str, history)] for history in split.histories]
lists = np.full((len(asked), LISTED), -1, np.int32)
for row, found in zip(lists, model.answers.recommend_many(asked, LISTED, exclude_seen=True), strict=True):
    row[: len(found)] = [int(each.item) for each in found]
answer(job, lists, clock, ["torch", "numpy"])
