"""Find phrases with unhot: encode, count, and export what is above the threshold."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from unhot.corpus.encoding import encode
from unhot.corpus.phrases import Phrases

job = json.loads(sys.argv[1])
start = time.perf_counter()
phrases = Phrases(
    score=job["score"],
    min_count=job["min_count"],
    threshold=job["threshold"],
    connectors=job["connectors"],
    threads=job["threads"],
)
with encode(job["text"], min_count=1, threads=job["threads"]) as corpus:
    phrases.fit(corpus)
    found = {phrase: score for phrase, score, _ in phrases.phrases}
    seconds = time.perf_counter() - start
    words = corpus.words
Path(job["found"]).write_text(json.dumps(found), encoding="utf-8")
sys.stdout.write(json.dumps({"seconds": seconds, "phrases": len(found), "words": words}) + "\n")
