"""Answer a file of analogies with unhot."""

from __future__ import annotations

import json
import os
import sys
import time

job = json.loads(sys.argv[1])
os.environ["OPENBLAS_NUM_THREADS"] = str(job["threads"])  # before numpy is loaded

from unhot import Vectors  # noqa: E402
from unhot.evaluate import analogies  # noqa: E402

vectors = Vectors.load(job["vectors"])
vectors.threads = job["threads"]
start = time.perf_counter()
result = analogies(vectors, job["questions"], restrict_vocab=job["restrict_vocab"])
seconds = time.perf_counter() - start
sections = [[section.name, section.correct, section.answered] for section in result.sections]
size = {"words": len(vectors), "dim": vectors.vectors.shape[1]}
sys.stdout.write(json.dumps({"seconds": seconds, "sections": sections, **size}) + "\n")
