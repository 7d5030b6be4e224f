"""Train with gensim from a file and save the vectors.

Only `train` is on the clock, the vocabulary is built before.
"""

from __future__ import annotations

import json
import sys
import time

from gensim.models import Word2Vec

job = json.loads(sys.argv[1])
model = Word2Vec(
    vector_size=job["dim"],
    window=job["window"],
    negative=0 if job["output"] == "hierarchical" else job["k"],
    hs=1 if job["output"] == "hierarchical" else 0,
    min_count=job["min_count"],
    sample=job["sample"],
    sg=1 if job["model"] == "skipgram" else 0,
    workers=job["threads"],
    seed=job["seed"],
)
model.build_vocab(corpus_file=job["text"])
start = time.perf_counter()
model.train(
    corpus_file=job["text"],
    total_words=model.corpus_total_words,
    total_examples=model.corpus_count,
    epochs=job["epochs"],
)
seconds = time.perf_counter() - start
model.wv.save_word2vec_format(job["vectors"], binary=True)
sys.stdout.write(json.dumps({"seconds": seconds, "lr": model.alpha, "vocabulary": len(model.wv)}) + "\n")
