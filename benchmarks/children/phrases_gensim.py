"""Find phrases with gensim: count, and export what is above the threshold."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from gensim.models.phrases import Phrases
from gensim.models.word2vec import LineSentence

job = json.loads(sys.argv[1])
scoring = {"gensim": "default", "npmi": "npmi"}[job["score"]]
start = time.perf_counter()
phrases = Phrases(
    LineSentence(job["text"]),
    min_count=job["min_count"],
    threshold=job["threshold"],
    scoring=scoring,
    connector_words=frozenset(job["connectors"]),
    max_vocab_size=1 << 40,  # its default prunes
)
found = phrases.export_phrases()
seconds = time.perf_counter() - start
Path(job["found"]).write_text(json.dumps(found), encoding="utf-8")
sys.stdout.write(
    json.dumps({"seconds": seconds, "phrases": len(found), "words": phrases.corpus_word_count}) + "\n"
)
