"""Load vectors with gensim: once, and then again and again."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from gensim.models import KeyedVectors

job = json.loads(sys.argv[1])
folder = job["folder"]
load: Callable[[], Any] = {
    "text": lambda: KeyedVectors.load_word2vec_format(f"{folder}/vectors.txt", binary=False),
    "binary": lambda: KeyedVectors.load_word2vec_format(f"{folder}/vectors.bin", binary=True),
    "own": lambda: KeyedVectors.load(f"{folder}/gensim", mmap="r"),
}[job["format"]]
seconds = []
for _ in range(1 + job["repeats"]):
    start = time.perf_counter()
    vectors = load()
    seconds.append(time.perf_counter() - start)
answer = {
    "first": seconds[0],
    "seconds": sorted(seconds[1:])[job["repeats"] // 2],
    "words": len(vectors),
    "sum": float(vectors.vectors[::97].sum()),
}
sys.stdout.write(json.dumps(answer) + "\n")
