"""Build gensim's vocabulary from a file."""

from __future__ import annotations

import json
import sys
import time

from gensim.models import Word2Vec

job = json.loads(sys.argv[1])
# its vectors are allocated at the end of build_vocab
model = Word2Vec(min_count=job["min_count"], vector_size=1)
start = time.perf_counter()
model.build_vocab(corpus_file=job["text"])
seconds = time.perf_counter() - start
sys.stdout.write(
    json.dumps({"seconds": seconds, "vocabulary": len(model.wv), "words": model.corpus_total_words}) + "\n"
)
