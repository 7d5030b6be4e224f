"""Score sentences with unhot in one call: once, and then again and again."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from unhot.models.load import load_language_model

job = json.loads(sys.argv[1])
model = load_language_model(job["model"], job["threads"])
sentences = Path(job["sentences"]).read_text(encoding="utf-8").split("\n")[:-1]
seconds = []
for _ in range(1 + job["repeats"]):
    start = time.perf_counter()
    scores = model.scores(sentences)
    seconds.append(time.perf_counter() - start)
answer = {"seconds": seconds[1:], "sentences": len(sentences), "log10": float(scores.sum())}
sys.stdout.write(json.dumps(answer) + "\n")
