"""Answer a file of analogies with gensim."""

from __future__ import annotations

import json
import os
import sys
import time

job = json.loads(sys.argv[1])
os.environ["OPENBLAS_NUM_THREADS"] = str(job["threads"])  # before numpy is loaded

from gensim.models import KeyedVectors  # noqa: E402

vectors = KeyedVectors.load_word2vec_format(job["vectors"], binary=True)
start = time.perf_counter()
found = vectors.evaluate_word_analogies(
    job["questions"], restrict_vocab=job["restrict_vocab"] or len(vectors)
)[1][:-1]
seconds = time.perf_counter() - start
sections = [[s["section"], len(s["correct"]), len(s["correct"]) + len(s["incorrect"])] for s in found]
size = {"words": len(vectors), "dim": vectors.vector_size}
sys.stdout.write(json.dumps({"seconds": seconds, "sections": sections, **size}) + "\n")
