"""Score a fastText file, whoever wrote it.

Read by the fasttext package, scored by gensim's evaluators and by SciPy, in percent.

Analogies and word pairs as in evaluate.py. Three ways to look at word pairs: words of the vocabulary only;
all words, those that are not in the vocabulary from their n-grams; and all words as if none were in it, from
their n-grams alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
from gensim.models import KeyedVectors
from scipy.stats import spearmanr  # type: ignore[import-untyped]

job = json.loads(sys.argv[1])
model = fasttext.load_model(job["vectors"])
words = [word for word in model.get_words() if word != "</s>"]
known = set(words)
vectors = KeyedVectors(model.get_dimension())
vectors.add_vectors(words, np.array([model.get_word_vector(word) for word in words]))


def from_ngrams(word: str) -> Any:
    """The mean of the rows of a word's n-grams, without its own."""
    pieces, rows = model.get_subwords(word)
    used = [
        row for piece, row in zip(pieces, rows, strict=True) if piece != word or row >= len(model.get_words())
    ]
    return (
        np.mean([model.get_input_vector(row) for row in used], axis=0)
        if used
        else np.zeros(model.get_dimension())
    )


def correlation(file: str, vector_of: Callable[[str], Any]) -> float:
    """Spearman's rank correlation over all pairs."""
    lines = [
        line.split()
        for line in Path(file).read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    cosines = []
    for first, second, _ in lines:
        a, b = vector_of(first.lower()), vector_of(second.lower())
        cosines.append(float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12)))
    return 100 * float(spearmanr(cosines, [float(line[2]) for line in lines]).statistic)


scores = {}
if job["analogies"]:
    scores["analogies"] = 100 * vectors.evaluate_word_analogies(job["analogies"], restrict_vocab=30000)[0]
for name in ("wordsim", "simlex"):
    if job[name]:
        scores[name] = 100 * vectors.evaluate_word_pairs(job[name], delimiter=None)[1][0]
        scores[f"{name}_all"] = correlation(job[name], model.get_word_vector)
        scores[f"{name}_ngrams"] = correlation(job[name], from_ngrams)
sys.stdout.write(json.dumps({name: round(float(score), 2) for name, score in scores.items()}) + "\n")
