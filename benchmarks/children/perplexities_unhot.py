"""Measure how well a model of unhot predicts some texts."""

from __future__ import annotations

import json
import sys

from unhot.models.load import load_language_model

job = json.loads(sys.argv[1])
model = load_language_model(job["model"])
answer: dict[str, float] = {}
for name, text in job["texts"].items():
    found = model.perplexity(text)
    answer |= {name: found.perplexity, f"{name}_tokens": found.tokens, f"{name}_zero": found.zero}
sys.stdout.write(json.dumps(answer) + "\n")
