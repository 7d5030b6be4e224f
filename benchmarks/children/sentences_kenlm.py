"""Score sentences with KenLM's package for Python, one call each: once, and then again and again."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import kenlm

job = json.loads(sys.argv[1])
model = kenlm.Model(job["model"])
sentences = Path(job["sentences"]).read_text(encoding="utf-8").split("\n")[:-1]
seconds = []
for _ in range(1 + job["repeats"]):
    start = time.perf_counter()
    scores = [model.score(sentence) for sentence in sentences]
    seconds.append(time.perf_counter() - start)
answer = {"seconds": seconds[1:], "sentences": len(sentences), "log10": sum(scores)}
sys.stdout.write(json.dumps(answer) + "\n")
