"""Open a fastText file and ask it for the vectors of a seen and of an unseen word.

Imports are not on the clock.
"""

from __future__ import annotations

import json
import sys
import time

job = json.loads(sys.argv[1])
if job["tool"] == "fasttext":
    import fasttext

    start = time.perf_counter()
    model = fasttext.load_model(job["vectors"])
    opened = time.perf_counter() - start
    vectors = [model.get_word_vector(word) for word in job["words"]]
else:
    from unhot import Vectors

    start = time.perf_counter()
    model = Vectors.load(job["vectors"])
    opened = time.perf_counter() - start
    vectors = [model[word] for word in job["words"]]
asked = time.perf_counter() - start
sys.stdout.write(
    json.dumps(
        {"opened": opened, "asked": asked, "sum": float(sum(float(vector.sum()) for vector in vectors))}
    )
    + "\n"
)
