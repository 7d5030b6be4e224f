"""From text to vectors with unhot's GloVe, stage by stage; seconds of each, and of each iteration."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from unhot import GloVe
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.encoding import encode

job = json.loads(sys.argv[1])
folder = Path(job["folder"])
marks = [time.perf_counter()]
ends: list[float] = []  # of iterations; the first one is the beginning of the first


def note(progress: object) -> None:
    """When a training begins, and when an iteration ends."""
    if getattr(progress, "event", "") in ("start", "epoch"):
        ends.append(time.perf_counter())


model = GloVe(
    epochs=job["iterations"],
    **{name: job[name] for name in ("dim", "window", "x_max", "alpha", "lr", "threads", "seed")},
)
with encode(job["text"], min_count=job["min_count"], threads=job["threads"]) as corpus:
    marks.append(time.perf_counter())
    counting = {
        "window": job["window"],
        "threads": job["threads"],
        "memory": job["memory"],
        "directory": folder / "cells",
    }
    with cooccurrences(corpus, **counting) as cells:
        marks.append(time.perf_counter())
        model.fit(cells, callbacks=[note])
        marks.append(time.perf_counter())
        model.save(folder / "model")
        marks.append(time.perf_counter())
        iterations = [end - start for start, end in zip(ends, ends[1:], strict=False)]
        answer = {
            "vocabulary_seconds": marks[1] - marks[0],
            "cells_seconds": marks[2] - marks[1],
            # all that fit does before and behind the iterations
            "order_seconds": marks[3] - marks[2] - sum(iterations),
            "rest_seconds": marks[4] - marks[3],
            "iterations": iterations,
            "loss": model.history.losses[-1],
            "cells": len(cells),
            "vocabulary": len(cells.vocabulary),
            "vectors": str(folder / "model"),
        }
if len(iterations) != job["iterations"]:
    raise SystemExit(f"{len(iterations)} iterations of {job['iterations']}")
sys.stdout.write(json.dumps(answer) + "\n")
