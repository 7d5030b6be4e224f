"""Learn item vectors with unhot or gensim, and ask for the test."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from unhot.index.best import ExcludedRows, ranks
from unhot.items.histories import case_blocks, newest
from unhot.items.ranking import ndcg
from unhot.logs.encoding import read_log
from unhot.logs.splitting import split_log
from unhot.models.item2vec import Item2Vec

job = json.loads(sys.argv[1])
LAST, DECAY = 10, 1.0  # asked with the plain mean of the last ten items
how: dict[str, Any] = {} if job["format"] is None else {"format": job["format"]}
log = read_log(job["log"], **how)
split = split_log(log, job["split"])
part = log.part(split.train)

if job["tool"] == "unhot":
    model = Item2Vec(
        sides="both",
        window=5,
        dim=64,
        output=f"negative:k=20,power={job['power']:g}",
        epochs=job["epochs"],
        lr=0.025,
        sample=1e-3,
        threads=job["threads"],
    )
    model.warm_up()
    start = time.perf_counter()
    model.fit(part)
    seconds = time.perf_counter() - start
    words = model.catalogue.words
    inputs, outputs = model.learned.params.in_vectors, model.learned.params.out_vectors
else:
    from gensim.models import Word2Vec

    text = Path(job["folder"]) / "sessions.txt"
    ids, starts = part.ids_of_lines, part.starts
    with text.open("w", encoding="utf-8") as file:
        for line in range(part.sentences):
            file.write(" ".join(part.items.words[i] for i in ids[starts[line] : starts[line + 1]]) + "\n")
    start = time.perf_counter()
    peer = Word2Vec(
        corpus_file=str(text),
        sg=1,
        window=5,
        vector_size=64,
        negative=20,
        ns_exponent=job["power"],
        epochs=job["epochs"],
        alpha=0.025,
        sample=1e-3,
        min_count=1,
        workers=job["threads"],
    )
    seconds = time.perf_counter() - start
    words = peer.wv.index_to_key
    inputs, outputs = peer.wv.vectors, peer.syn1neg

index = {word: i for i, word in enumerate(words)}
known = np.array([index.get(word, -1) for word in log.items.words], np.int32)
cases = split.cases("test")
units = inputs / np.linalg.norm(inputs, axis=1, keepdims=True)
found: list[Any] = []
cosines: list[Any] = []
for histories, targets, _ in case_blocks(cases, known, np.full(len(log.users) + 1, -1, np.int32), 1000):
    asked = newest(histories, LAST, DECAY)
    rows = [slice(asked.starts[i], asked.starts[i + 1]) for i in range(len(histories))]
    hidden = np.stack([inputs[asked.ids[row]].mean(axis=0) for row in rows])
    seen = ExcludedRows(histories.ids.astype(np.int64), histories.starts)
    known_targets = targets >= 0
    for scores, out in ((hidden @ outputs.T, found), (hidden @ units.T, cosines)):
        out.append(np.where(known_targets, ranks(scores.astype(np.float32), targets, seen), np.inf))
ranked, by_cosine = np.concatenate(found), np.concatenate(cosines)
answer = {
    "seconds": round(seconds, 3),
    "recall@10": float((ranked <= 10).mean()),
    "recall@20": float((ranked <= 20).mean()),
    "ndcg@10": float(ndcg(ranked, 10).mean()),
    "cosine_recall@10": float((by_cosine <= 10).mean()),
}
sys.stdout.write(json.dumps(answer) + "\n")
