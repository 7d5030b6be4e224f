"""Score vectors of any format with unhot's evaluators, in percent.

Analogies: accuracy among the 30,000 most frequent words, questions with other words left out. Word pairs:
Spearman's rank correlation. These are the figures of gensim's evaluators, too (benchmarks/evaluation.py).
With `asked`, also the ten nearest words of each of these words.
"""

from __future__ import annotations

import json
import sys

from unhot import Vectors
from unhot.evaluate import analogies, similarity

job = json.loads(sys.argv[1])
vectors = Vectors.load(job["vectors"])
scores = {}
if job["analogies"]:
    scores["analogies"] = analogies(vectors, job["analogies"], restrict_vocab=30_000).total.accuracy
for name in ("wordsim", "simlex"):
    if job[name]:
        scores[name] = similarity(vectors, job[name]).spearman
asked = job["asked"]
found = vectors.most_similar_each(asked, 10) if asked else []
nearest = {word: [other for other, _ in near] for word, near in zip(asked, found, strict=True)}
answer = {name: round(100 * score, 2) for name, score in scores.items()}
sys.stdout.write(json.dumps({**answer, "nearest": nearest}) + "\n")
