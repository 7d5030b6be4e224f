"""Train a tiny model of every kind, save them to tests/golden/models, and record what they answer.

    python tools/make_golden_models.py              make the models that are missing
    python tools/make_golden_models.py NAME ...     make these models, also if they are there
    python tools/make_golden_models.py --answers    keep all models, and record their answers again

The folders show whether models that an earlier version saved still load and still give the same answers. So
do not make them again: add a recipe for each new kind of model. Every model is trained with one thread, from
copies of tests/golden/inputs in /tmp/unhot-golden, since a saved model notes the paths of its sources.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from golden_answers import names, record
from golden_inputs import write_inputs
from golden_questions import INPUTS, MODELS

import unhot
from unhot.corpus import encode
from unhot.corpus.cooccurrence import cooccurrences
from unhot.evaluate import calibrate
from unhot.models.pmi import pmi

SOURCES = Path("/tmp/unhot-golden")
ARPA = MODELS.parent / "kn_modified.arpa"
WORDS: dict[str, Any] = {"dim": 6, "window": 3, "min_count": 1, "sample": 0.0, "epochs": 6, "lr": 0.1}
FEW: dict[str, Any] = {"buckets": 300, "minn": 3, "maxn": 4}
NET: dict[str, Any] = {"dim": 6, "epochs": 4, "lr": 0.02, "batch": 4, "steps": 12, "warmup": 0}
NODES: dict[str, Any] = {"dim": 6, "window": 3, "epochs": 3, "lr": 0.1}
ITEMS: dict[str, Any] = {"dim": 6, "epochs": 8, "lr": 0.1}
HELD_OUT = str(SOURCES / "held_out.txt")
SPLIT = {"split": "leave-last-out"}
SESSION = {"session": "session", "booked": "booked", "market": "market", "rejected": "rejected"}
MIXED = "mixed:k=8,temperature=0.5,correct=false,batch=32,normalized=true,bias=true"
NORMALIZED = {"features": "market,price", "categories": "market", "buckets": 0}
COSINES = "in_batch:normalized=true,temperature=0.2"
SIDES = {"items": str(SOURCES / "items.csv"), "side": "market,price"}
TOWER: dict[str, Any] = {"dim": 6, "epochs": 3, "lr": 0.02, "batch": 16, "warmup": 0, "length": 12}
FEATURES = {"features": "user_type,price", "buckets": 3}

Recipe = Callable[[Path], None]  # trains a model and saves it to a folder


class PowerCut(Exception):
    """Ends a training that has written a checkpoint."""


def model_of(kind: str, **settings: Any) -> Any:
    """Return an untrained model of one thread."""
    return getattr(unhot, kind)(threads=1, **settings)


def fitted(kind: str, source: str, **settings: Any) -> Recipe:
    """Return a recipe that trains a model and saves it."""
    return lambda folder: model_of(kind, **settings).fit(SOURCES / source).save(folder)


def stopped(kind: str, source: str, **settings: Any) -> Recipe:
    """Return a recipe that stops a training after two epochs, as Ctrl-C does, and saves it."""

    def make(folder: Path) -> None:
        stop = [_after_two_epochs(KeyboardInterrupt)]
        model_of(kind, **settings).fit(SOURCES / source, callbacks=stop).save(folder)

    return make


def cut_off(kind: str, source: str, **settings: Any) -> Recipe:
    """Return a recipe that leaves nothing but a checkpoint."""

    def make(folder: Path) -> None:
        how = {
            "checkpoint": unhot.Checkpoint(path=folder, chunks=2, minutes=None),
            "callbacks": [_after_two_epochs(PowerCut)],
        }
        with contextlib.suppress(PowerCut):
            model_of(kind, **settings).fit(SOURCES / source, **how)

    return make


def _after_two_epochs(error: type[BaseException]) -> Callable[[Any], None]:
    def stop(progress: Any) -> None:
        if progress.event == "epoch" and progress.epoch == 2:
            raise error

    return stop


def ngrams(**settings: Any) -> Recipe:
    """Return a recipe of an n-gram model."""
    return fitted("NGramModel", "text.txt", **{"order": 3, **settings})


def words(kind: str, **settings: Any) -> Recipe:
    """Return a recipe of word vectors."""
    return fitted(kind, "text.txt", **{**WORDS, **settings})


def counts(kind: str, **settings: Any) -> Recipe:
    """Return a recipe of word vectors that are learned from counts."""
    return fitted(kind, "text.txt", **{"dim": 6, "window": 3, "min_count": 1, **settings})


def net(body: str, **settings: Any) -> Recipe:
    """Return a recipe of a neural language model."""
    return fitted("NeuralLM", "text.txt", **{**NET, "body": body, "min_count": 3, **settings})


def classifier(source: str = "labelled.txt", **settings: Any) -> Recipe:
    """Return a recipe of a classifier."""
    return fitted("Classifier", source, **{"dim": 5, "epochs": 10, **settings})


def items(kind: str, **settings: Any) -> Recipe:
    """Return a recipe of a recommender."""
    return fitted(kind, "log.csv", **settings)


def tower(kind: str, **settings: Any) -> Recipe:
    """Return a recipe of a deep retrieval model."""
    return items(kind, **{**TOWER, **settings})


def _calibrated(folder: Path) -> None:
    """Save a classifier whose labels are whole numbers, with a temperature."""
    with (SOURCES / "numbers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    model = unhot.Classifier(dim=5, epochs=10, threads=1)
    model.fit([row["text"] for row in rows], [int(row["label"]) for row in rows])
    calibrate(model, model.rows_of(SOURCES / "numbers_test.csv"))
    model.save(folder)


def _from_arpa(folder: Path) -> None:
    unhot.NGramModel.load_arpa(ARPA, threads=1).save(folder)


def _mixture(folder: Path) -> None:
    models: list[Any] = [unhot.load(MODELS / name) for name in ("ngram", "neural-lstm")]
    unhot.Mixture.of(models, SOURCES / "held_out.txt").save(folder)


def _vectors(name: str) -> Recipe:
    """Return a recipe that saves the vectors of another golden model."""

    def make(folder: Path) -> None:
        unhot.Vectors.load(MODELS / name).save(folder)

    return make


def _cells(folder: Path) -> None:
    with encode(SOURCES / "text.txt", min_count=5) as corpus:
        cooccurrences(corpus, window=2, threads=1, directory=folder).close()


def _pmi(folder: Path) -> None:
    with (
        encode(SOURCES / "text.txt", min_count=5) as corpus,
        cooccurrences(corpus, window=2, threads=1) as cells,
    ):
        pmi(cells, threads=1, directory=folder).close()


RECIPES: dict[str, Recipe] = {
    # word vectors, each with another output layer
    "skipgram": words("SkipGram"),
    "skipgram-learned-noise": words("SkipGram", output="negative:k=3,noise=learned"),
    "skipgram-nce": words("SkipGram", output="nce:k=4,ln_z=learned,bias=true"),
    "skipgram-nce-per-input": words("SkipGram", output="nce:k=4,ln_z=per_input"),
    "skipgram-hierarchical": words("SkipGram", output="hierarchical:bias=true"),
    "skipgram-class-based": words("SkipGram", output="class_based:bias=true"),
    "skipgram-one-vs-all": words("SkipGram", output="one_vs_all"),
    "skipgram-exact": words("SkipGram", on="cells", output="softmax"),
    "skipgram-torch-adaptive": words("SkipGram", engine="torch", output="adaptive:div_value=2,bias=true"),
    "skipgram-torch-in-batch": words("SkipGram", engine="torch", output="in_batch", batch=32),
    "skipgram-torch-mixed": words("SkipGram", engine="torch", output=MIXED, batch=32),
    "skipgram-torch-infrequent": words("SkipGram", engine="torch", output="infrequent"),
    "cbow": words("CBOW"),
    "cbow-sum": words("CBOW", combine="sum", output="sampled:k=6,bias=true"),
    "cbow-sampled-logistic": words("CBOW", output="sampled_logistic:k=6"),
    "cbow-self-normalized": words("CBOW", output="self_normalized", tokenizer="words"),
    "cbow-torch-differentiated": words("CBOW", engine="torch", output="differentiated:bias=true"),
    "cbow-torch-partition": words("CBOW", engine="torch", output="partition:size=40"),
    "fasttext": words("FastText", **FEW),
    "fasttext-cbow": words("FastText", **FEW, architecture="cbow", output="hierarchical"),
    "fasttext-floret": words("FastText", **FEW, scheme="floret", hashes=2),
    "fasttext-sum": words("FastText", **FEW, combine="sum"),
    "fasttext-float16": words("FastText", **FEW, float16=True),
    "glove": counts("GloVe", epochs=6),
    "svd": counts("SVD", oversampling=8),
    "vectors": _vectors("skipgram"),
    "vectors-ngrams": _vectors("fasttext"),
    "cells": _cells,
    "pmi": _pmi,
    # classifiers
    "classifier": classifier(),
    "classifier-tags": classifier("tags.txt", output="one_vs_all", word_ngrams=1),
    "classifier-ngrams": classifier(minn=2, maxn=3, buckets=300, weighting="none"),
    "classifier-hierarchical": classifier(output="hierarchical:bias=true", class_weights="balanced"),
    "classifier-calibrated": _calibrated,
    # language models
    "ngram": ngrams(min_count=2),
    "ngram-compact": ngrams(compact=True),
    "ngram-kneser-ney": ngrams(smoothing="kneser_ney", double=True, prune="0,0,1"),
    "ngram-add-k": ngrams(smoothing="add_k:k=0.5", order=2, min_count=3),
    "ngram-stupid-backoff": ngrams(smoothing="stupid_backoff", min_count=3),
    "ngram-arpa": _from_arpa,
    "neural-lstm": net("lstm"),
    "neural-gru": net("gru:layers=2", output="sampled:k=8"),
    "neural-rnn": net("rnn:units=5", output="hierarchical"),
    "neural-bengio": net("bengio:context=3,units=5", output="class_based"),
    "neural-cnn": net("cnn:layers=2,size=2", output="nce:k=8"),
    "neural-transformer": net("transformer:layers=1,heads=2,context=8", output="adaptive:div_value=2"),
    "mixture": _mixture,
    # recommenders
    "popularity": items("Popularity", **SPLIT, with_users=True),
    "recent-popularity": items("RecentPopularity", **SPLIT),
    "itemknn": items("ItemKNN", **SPLIT),
    "last-cosine": items("LastCosine", **SPLIT),
    "ease": items("EASE", **SPLIT, refit=True),
    "skip-markov": items("SkipMarkov", **SPLIT, with_users=True, items=SIDES["items"]),
    "session-knn": items("SessionKNN", session="session", split="session", share=0.2),
    "item2vec": items("Item2Vec", **ITEMS, **SPLIT, **SIDES),
    "item2vec-users": items("Item2Vec", **ITEMS, users="vector", with_users=True),
    "item2vec-tree": items("Item2Vec", **ITEMS, output="hierarchical", window=0, order="ignored"),
    "item-graph": items("ItemGraph", **ITEMS, p=0.5, q=2.0),
    "eges": items("EGES", **ITEMS, **SIDES),
    "eges-mean": items("EGES", **ITEMS, **SIDES, combine="mean", answer="next"),
    "session": items("SessionVectors", **ITEMS, **SESSION, user_type="user_type", item_type="market,price"),
    "sasrec": tower("SASRec", **FEATURES, blocks=1, output="sampled:k=6", with_users=True),
    "gru4rec": tower("GRU4Rec", units=5, output="softmax", **SPLIT, refit=True),
    "youtube-dnn": tower("YouTubeDNN", **FEATURES, **SIDES, units=12, output=COSINES),
    "mind": tower("MIND", **NORMALIZED, units=5, interests=3, output="nce:k=6,bias=true", tie=False),
    "sdm": tower("SDM", **SPLIT, **SIDES, short=3, pause=10.0, heads=2, output="hierarchical"),
    # graphs
    "graph-vectors": fitted("GraphVectors", "edges.txt", **NODES, hold_out=0.15),
    "graph-vectors-torch": fitted("GraphVectors", "edges.txt", **NODES, p=0.25, q=4.0, engine="torch"),
    # trainings that did not come to their end
    "skipgram-stopped": stopped("SkipGram", "text.txt", **WORDS),
    "skipgram-checkpoint": cut_off("SkipGram", "text.txt", **WORDS),
    "skipgram-exact-stopped": stopped("SkipGram", "text.txt", **WORDS, on="cells", output="softmax"),
    "glove-stopped": stopped("GloVe", "text.txt", dim=6, window=3, min_count=1, epochs=6),
    "neural-stopped": stopped("NeuralLM", "text.txt", **NET, validation=HELD_OUT),
    "item2vec-stopped": stopped("Item2Vec", "log.csv", **ITEMS, **SPLIT),
    "sasrec-stopped": stopped("SASRec", "log.csv", **TOWER, **SPLIT, blocks=1, output="softmax"),
    "classifier-checkpoint": cut_off("Classifier", "labelled.txt", dim=5, epochs=10),
}


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="the models; by default those that are missing"
    )
    parser.add_argument("--answers", action="store_true", help="keep the models, record only their answers")
    given = parser.parse_args()
    if given.answers:
        chosen = given.names or names()
    else:
        chosen = given.names or [name for name in RECIPES if not (MODELS / name).exists()]
        make(chosen)
    for name in chosen:
        record(name)
    return 0


def make(chosen: list[str]) -> None:
    """Train models and save them, in place of those that are there."""
    if not INPUTS.exists():
        write_inputs(INPUTS)
    shutil.copytree(INPUTS, SOURCES, dirs_exist_ok=True)
    for name in chosen:
        shutil.rmtree(MODELS / name, ignore_errors=True)
        RECIPES[name](MODELS / name)


if __name__ == "__main__":
    sys.exit(main())
