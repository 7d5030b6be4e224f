"""Train a model with one thread, save it, load it again, and write what it answers.

job: data (the working directory), model, settings, source, family, questions (a file, or ""), folder ->
known: whether this revision has the model. Public names only: any revision runs this.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import unhot

FEW, BEST = 20, 10  # lines that are predicted without compiled code; recommended items

job = json.loads(sys.argv[1])
folder = Path(job["folder"])


def trained() -> Any:
    """The model; a mixture is made of trained models."""
    if job["model"] == "Mixture":
        parts = [unhot.NGramModel(order=order, threads=1).fit(job["source"]) for order in (2, 3)]
        return unhot.Mixture.of(parts, job["questions"])
    return getattr(unhot, job["model"])(threads=1, **job["settings"]).fit(job["source"])


def answers(model: Any, questions: list[str]) -> tuple[list[str], Any]:
    """What a model of a family answers, as strings and as numbers."""
    if job["family"] == "classify":
        probabilities = model.predict_proba(questions[:FEW])
        return list(map(str, model.predict(questions))), probabilities
    if job["family"] == "language":
        return [], model.scores(questions)
    if job["family"] == "recommend":
        found = [model.recommend(line.split(), k=BEST) for line in questions]
        items = [" ".join(each.item for each in best) for best in found]
        return items, [each.score for best in found for each in best]
    return list(model.vectors.words), model.vectors.vectors


known = hasattr(unhot, job["model"])
if known:
    os.chdir(job["data"])
    trained().save(folder / "model")
    questions = Path(job["questions"]).read_text(encoding="utf-8").splitlines() if job["questions"] else []
    strings, numbers = answers(unhot.load(folder / "model"), questions)
    (folder / "answers.txt").write_text("".join(f"{each}\n" for each in strings), encoding="utf-8")
    np.save(folder / "answers.npy", np.asarray(numbers))
package = str(Path(unhot.__file__).resolve().parent)
sys.stdout.write(json.dumps({"known": known, "package": package}) + "\n")
