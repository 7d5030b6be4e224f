"""Train a model on an encoded text: CPU seconds between the events `start` and `done`.

A few words are trained first, so that all kernels are in memory. Public names only: any revision runs this.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import unhot

job = json.loads(sys.argv[1])
moments: dict[str, tuple[float, float]] = {}  # event -> seconds of CPU, seconds of the clock


def note(progress: object) -> None:
    """When the training begins, and when it ends."""
    event = getattr(progress, "event", "")
    if event in ("start", "done"):
        moments[event] = (time.process_time(), time.perf_counter())


for folder in (job["few"], job["corpus"]):
    model = getattr(unhot, job["model"])(**job["settings"])
    with unhot.Corpus.open(folder) as corpus:
        model.fit(corpus, callbacks=[note])
        words = corpus.words
        vocabulary = len(corpus.vocabulary)
start, done = moments["start"], moments["done"]
answer = {
    "cpu_seconds": done[0] - start[0],
    "seconds": done[1] - start[1],
    "loss": model.history.losses[-1],
    "words": words,
    "vocabulary": vocabulary,
    "package": str(Path(unhot.__file__).resolve().parent),
}
sys.stdout.write(json.dumps(answer) + "\n")
