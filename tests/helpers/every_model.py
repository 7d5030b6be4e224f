"""An input and small settings for every registered model but mixtures, which hold trained models."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from golden_questions import INPUTS  # noqa: E402

TEXT, LOG, EDGES = INPUTS / "text.txt", INPUTS / "log.csv", INPUTS / "edges.txt"
SHORT = {"dim": 8, "epochs": 2}
SESSION = {"session": "session", "booked": "booked", "market": "market", "rejected": "rejected"}
TRAINED = {
    "SkipGram": (TEXT, SHORT),
    "CBOW": (TEXT, SHORT),
    "FastText": (TEXT, SHORT),
    "GloVe": (TEXT, SHORT),
    "SVD": (TEXT, {"dim": 8}),
    "Classifier": (INPUTS / "labelled.txt", SHORT),
    "NGramModel": (TEXT, {"order": 2}),
    "NeuralLM": (TEXT, SHORT),
    "Popularity": (LOG, {}),
    "RecentPopularity": (LOG, {}),
    "ItemKNN": (LOG, {}),
    "LastCosine": (LOG, {}),
    "EASE": (LOG, {}),
    "SkipMarkov": (LOG, {}),
    "SessionKNN": (LOG, {"session": "session"}),
    "Item2Vec": (LOG, {**SHORT, "split": "leave-last-out"}),
    "ItemGraph": (LOG, SHORT),
    "EGES": (LOG, {**SHORT, "items": str(INPUTS / "items.csv"), "side": "price"}),
    "SessionVectors": (LOG, {**SHORT, **SESSION}),
    "GraphVectors": (EDGES, SHORT),
    **dict.fromkeys(("YouTubeDNN", "MIND", "SDM", "GRU4Rec", "SASRec"), (LOG, SHORT)),
}
