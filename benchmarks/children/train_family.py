"""Learn vectors with one model of the family, and ask them: seconds, peak memory, scores, neighbours.

Seconds and peak memory are taken when the vectors are there, before they are asked anything.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import unhot

MODELS = {"skipgram": "SkipGram", "cbow": "CBOW", "fasttext": "FastText", "glove": "GloVe", "svd": "SVD"}
TOPN = 10  # nearest words of each of the commonest
UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of what ru_maxrss counts


def learn(family: str, text: str, settings: dict[str, Any]) -> Any:
    """The vectors of a text."""
    if family == "ppmi":
        return positive_information(text, settings)
    vectors = getattr(unhot, MODELS[family])(**settings).fit(text).vectors
    len(vectors.vectors)  # those of fastText are made when they are asked for
    return vectors


def positive_information(text: str, settings: dict[str, Any]) -> Any:
    """Rows of positive PMI."""
    from unhot.corpus.cooccurrence import cooccurrences
    from unhot.corpus.encoding import encode
    from unhot.models.pmi import pmi
    from unhot.vectors.sparse_vectors import SparseVectors

    def chosen(*names: str) -> dict[str, Any]:
        return {name: settings[name] for name in names if name in settings}

    with (
        encode(text, **chosen("min_count", "threads")) as corpus,
        cooccurrences(corpus, **chosen("window", "weights", "threads")) as cells,
    ):
        return SparseVectors(pmi(cells, **chosen("shift", "smoothing", "threads")))


job = json.loads(sys.argv[1])
start = time.perf_counter()
vectors = learn(job["family"], job["text"], job["settings"])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT

scores = {}
if job["analogies"]:
    scores["analogies"] = unhot.evaluate.analogies(
        vectors, job["analogies"], restrict_vocab=30_000
    ).total.accuracy
for name in ("wordsim", "simlex"):
    if job[name]:
        scores[name] = unhot.evaluate.similarity(vectors, job[name]).spearman
near = {
    word: [other for other, _ in vectors.most_similar(word, topn=job["near"])]
    for word in job["words"]
    if word in vectors
}
nearest = {
    word: [other for other, _ in vectors.most_similar(word, topn=TOPN)]
    for word in vectors.words[: job["commonest"]]
}
answer = {
    "seconds": round(seconds, 2),
    "peak_mb": round(peak / 1e6),
    "vocabulary": len(vectors),
    "near": json.dumps(near),
    "nearest": nearest,
    **{name: round(100 * score, 2) for name, score in scores.items()},
}
sys.stdout.write(json.dumps(answer) + "\n")
