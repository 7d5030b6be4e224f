"""Ask gensim or unhot for neighbours: the first time, one word after the other, and many at once."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

TOPN = 10


def open_gensim(path: str) -> Any:
    """The vectors as gensim opens them."""
    from gensim.models import KeyedVectors

    return KeyedVectors.load_word2vec_format(path, binary=True)


def open_unhot(path: str) -> Any:
    """The vectors as unhot opens them."""
    from unhot import Vectors

    return Vectors.load(path, format="word2vec-binary")


def seconds(call: Callable[[], Any]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(job: dict[str, Any]) -> dict[str, Any]:
    """What was measured, and some answers."""
    ours = job["tool"] == "unhot"
    vectors = open_unhot(job["vectors"]) if ours else open_gensim(job["vectors"])
    if ours:
        vectors.threads = job["threads"]
    every = len(vectors.index_to_key) // job["queries"]
    words = vectors.index_to_key[::every][: job["queries"]]

    def batch(asked: Sequence[str]) -> list[Any]:
        return (
            vectors.most_similar_each(asked, TOPN)
            if ours
            else [vectors.most_similar(word, topn=TOPN) for word in asked]
        )

    first = seconds(lambda: vectors.most_similar(words[0], topn=TOPN))
    loading = seconds(lambda: batch(words))  # unhot changes over to its compiled search
    batch(words[:1])
    single = [seconds(lambda: vectors.most_similar(word, topn=TOPN)) for word in words[: job["singles"]]]  # noqa: B023
    batches = [seconds(lambda: batch(words)) for _ in range(job["repeats"])]
    return {
        "words": len(vectors.index_to_key),
        "dim": vectors.vector_size,
        "first_ms": first * 1e3,
        "loading_ms": (loading - min(batches)) * 1e3,
        "single_ms": statistics.median(single) * 1e3,
        "batch_per_second": len(words) / statistics.median(batches),
        "answers": [[other for other, _ in each] for each in batch(words[:100])],
    }


sys.stdout.write(json.dumps(main(json.loads(sys.argv[1]))) + "\n")
