"""Load vectors with unhot: once, and then again and again."""

from __future__ import annotations

import json
import sys
import time

from unhot import Vectors

job = json.loads(sys.argv[1])
path = job["folder"] + {"text": "/vectors.txt", "binary": "/vectors.bin", "own": "/unhot"}[job["format"]]
seconds = []
for _ in range(1 + job["repeats"]):
    start = time.perf_counter()
    vectors = Vectors.load(path)
    seconds.append(time.perf_counter() - start)
answer = {
    "first": seconds[0],
    "seconds": sorted(seconds[1:])[job["repeats"] // 2],
    "words": len(vectors),
    "sum": float(vectors.vectors[::97].sum()),
}
sys.stdout.write(json.dumps(answer) + "\n")
