"""Train with fastText and save its model: as word2vec, that is without n-grams, unless the job says which.

`train_unsupervised` reads the text a first time for its vocabulary; that is on the clock too, as it cannot be
taken apart.
"""

from __future__ import annotations

import json
import sys
import time

import fasttext
from fasttext.FastText import unsupervised_default

job = json.loads(sys.argv[1])
unsupervised_default["seed"] = job["seed"]  # the function takes no seed, but passes this one on
start = time.perf_counter()
model = fasttext.train_unsupervised(
    job["text"],
    model=job["model"],
    dim=job["dim"],
    ws=job["window"],
    neg=job["k"],
    loss="hs" if job["output"] == "hierarchical" else "ns",
    minCount=job["min_count"],
    t=job["sample"],
    epoch=job["epochs"],
    thread=job["threads"],
    minn=job.get("minn", 0),
    maxn=job.get("maxn", 0),
    bucket=job.get("buckets", 2_000_000),
    verbose=0,
)
seconds = time.perf_counter() - start
model.save_model(job["vectors"])
words = [word for word in model.get_words() if word != "</s>"]  # its end of line
sys.stdout.write(json.dumps({"seconds": seconds, "lr": model.lr, "vocabulary": len(words)}) + "\n")
