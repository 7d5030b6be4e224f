"""Train a recommender with a net on a log, test it, and write down where the right items stand."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from typing import Any

import numpy as np

from unhot.evaluate.recommending import measure_cases
from unhot.items.ranking import case_ranks
from unhot.logs.encoding import read_log
from unhot.logs.splitting import last_cases, split_log
from unhot.models.load import models_of
from unhot.models.log_data import Watched

job = json.loads(sys.argv[1])
CASES = 5_000  # questions of validation, at most
how: dict[str, Any] = {} if job["format"] is None else {"format": job["format"]}
log = read_log(job["log"], **how)
prefixes = None if job["prefixes"] is None else read_log(job["prefixes"], format="sessions")
cut = split_log(log, job["split"], test=prefixes is None)
tests = cut.cases("test") if prefixes is None else last_cases(prefixes)
watched = Watched(cut.cases("validation").sample(CASES), job["exclude_seen"])


class Clock:
    """The seconds of training, without those of validation, after each epoch."""

    def __init__(self) -> None:
        """Start."""
        self.last = time.perf_counter()
        self.seconds, self.after = 0.0, list[float]()

    def __call__(self, progress: Any) -> None:
        """Count the time since the last event, unless it was that of validation."""
        now = time.perf_counter()
        self.seconds += (now - self.last) * (progress.event == "progress")
        self.last = now
        if progress.event == "epoch":
            self.after.append(self.seconds)


kind: Any = models_of("recommend")[job["model"]]
settings = {**job["settings"], "threads": job["threads"]}
settings |= {"output": job["output"], "seed": job["seed"]} if job["output"] else {}
model = kind(**settings)
with log.part(cut.train) as train, log.part(cut.validation) as both:
    found, begin = Clock(), time.perf_counter()
    model.fit(train, validation=watched, callbacks=[found], note=lambda line: None)
    losses = model.history.validation
    if losses:
        again, clock = dataclasses.replace(model, epochs=int(np.argmin(losses)) + 1), Clock()
        again.fit(both, callbacks=[clock], note=lambda line: None)
    else:  # a model that counts
        again, clock = dataclasses.replace(model).fit(both, note=lambda line: None), found
        clock.seconds = (time.perf_counter() - begin) / 2  # of one of the two
result = measure_cases(again, tests, "test", job["exclude_seen"])
known = dict(zip(again.catalogue.words, again.catalogue.counts.tolist(), strict=True))
if "counts" in job:
    np.save(job["counts"], [known.get(tests.item_words[target], 0) for target in tests.targets.tolist()])
np.save(job["ranks"], case_ranks(again.answers, tests, exclude_seen=job["exclude_seen"]).ranks)
curve = [[round(second, 2), round(-loss, 5)] for second, loss in zip(found.after, losses, strict=False)]
answer = {
    "epochs": again.history.position.epoch,
    "fit_seconds": round(clock.seconds, 2),
    "validation": round(-min(losses), 5) if losses else "",
    "curve": json.dumps(curve),
    "milliseconds": round(result.milliseconds, 3),
    **{name: round(value, 6) for name, value in result.figures.items()},
}
sys.stdout.write(json.dumps(answer) + "\n")
