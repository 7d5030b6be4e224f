"""Encode a text with unhot: vocabulary and ids on disk; `more` are further arguments of `encode`."""

from __future__ import annotations

import json
import sys
import time

from unhot.corpus import encode

job = json.loads(sys.argv[1])
start = time.perf_counter()
with encode(
    job["text"],
    min_count=job["min_count"],
    threads=job["threads"],
    directory=job.get("directory"),
    **job.get("more", {}),
) as corpus:
    seconds = time.perf_counter() - start
    answer = {"seconds": seconds, "vocabulary": len(corpus.vocabulary), "words": corpus.words}
sys.stdout.write(json.dumps(answer) + "\n")
