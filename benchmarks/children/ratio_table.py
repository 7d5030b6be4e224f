"""The ratios that GloVe starts from: how much more often words stand near one word than near another."""

from __future__ import annotations

import json
import sys

from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.encoding import encode
from unhot.models.ratios import ratio_table

job = json.loads(sys.argv[1])
with (
    encode(job["text"], min_count=job["min_count"], threads=job["threads"]) as corpus,
    cooccurrences(corpus, window=job["window"], threads=job["threads"]) as cells,
):
    missing = [word for word in job["words"] if word not in cells.vocabulary]
    a, b, *probes = job["words"]
    table = [] if missing else ratio_table(cells, a, b, probes)
answer = {"missing": missing, "words": [a, b], "window": job["window"], "table": table}
sys.stdout.write(json.dumps(answer) + "\n")
