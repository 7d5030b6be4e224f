"""Train a model: CPU seconds between the events `start` and `done`, or of `fit` if the model has no events.

job: model, settings, few, source (encoded texts, or files), repeats, save (a folder, or "") -> cpu_seconds
and seconds of all repeats, loss. A few words are trained first, so that all kernels are in memory. Public
names only: any revision runs this.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import unhot

job = json.loads(sys.argv[1])
moments: dict[str, tuple[float, float]] = {}  # event -> seconds of CPU, seconds of the clock


def note(event: str) -> None:
    """When the training begins, and when it ends."""
    moments[event] = (time.process_time(), time.perf_counter())


def learn(path: Path) -> Any:
    """A model trained on an encoded text, which is a folder, or on a file."""
    model = getattr(unhot, job["model"])(**job["settings"])
    with unhot.Corpus.open(path) if path.is_dir() else contextlib.nullcontext(path) as source:
        moments.clear()
        note("start")
        model.fit(source, callbacks=[lambda progress: note(progress.event)])
        if "done" not in moments:
            note("done")
    return model


cpu_seconds = seconds = 0.0
model = learn(Path(job["few"]))
for _ in range(job["repeats"]):
    model = None  # so that two models are never in memory
    model = learn(Path(job["source"]))
    cpu_seconds += moments["done"][0] - moments["start"][0]
    seconds += moments["done"][1] - moments["start"][1]
if job["save"]:
    model.save(job["save"])
losses = model.history.losses
answer = {
    "cpu_seconds": cpu_seconds,
    "seconds": seconds,
    "loss": losses[-1] if losses else None,
    "package": str(Path(unhot.__file__).resolve().parent),
}
sys.stdout.write(json.dumps(answer) + "\n")
