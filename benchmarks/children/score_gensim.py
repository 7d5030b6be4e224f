"""Train word vectors with gensim, and score them with unhot's evaluators."""

from __future__ import annotations

import json
import sys
import time

from gensim.models import Word2Vec

import unhot

job = json.loads(sys.argv[1])
settings = job["settings"]
start = time.perf_counter()
model = Word2Vec(corpus_file=job["text"], **settings)
seconds = time.perf_counter() - start
vectors = unhot.Vectors(model.wv.index_to_key, model.wv.vectors)
scores = {}
if job["analogies"]:
    found = unhot.evaluate.analogies(vectors, job["analogies"], restrict_vocab=30_000)
    scores["analogies"] = found.total.accuracy
for name in ("wordsim", "simlex"):
    if job[name]:
        scores[name] = unhot.evaluate.similarity(vectors, job[name]).spearman
answer = {"seconds": round(seconds, 2), **{name: round(100 * score, 2) for name, score in scores.items()}}
sys.stdout.write(json.dumps(answer) + "\n")
