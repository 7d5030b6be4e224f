"""Measure a language model on its test text, alone and mixed with another model.

job: model, other, valid, test -> perplexities, with states carried on and each line alone; the model's weight
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from unhot.evaluate.language import measure_language
from unhot.models.load import load_language_model
from unhot.models.mixture import Mixture

job = json.loads(sys.argv[1])
model: Any = load_language_model(job["model"])
valid, test = Path(job["valid"]), Path(job["test"])
figures = measure_language(model, test)
answer = {
    "valid": model.perplexity(valid).perplexity,
    "test": figures.result.perplexity,
    "tokens": figures.result.tokens,
    "test_alone": model.perplexity(test, carry=False).perplexity,
    "log_z_mean": figures.log_z_mean,
    "log_z_variance": figures.log_z_variance,
    "epochs": len(model.history.losses),
}
if job["other"]:
    mixture = Mixture.of([model, load_language_model(job["other"])], valid)
    answer |= {"mixed": mixture.perplexity(test).perplexity, "weight": mixture.weights[0]}
sys.stdout.write(json.dumps(answer) + "\n")
