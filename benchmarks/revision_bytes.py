"""What two revisions learn, compared bit for bit: every kind of model, with one thread, on small data.

A training with one thread and a fixed seed gives the same bytes in every run, so two revisions that compute
the same give the same saved models and the same answers. Each training is a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from checkouts import Checkout
from generated import write_edges, write_histories, write_log, write_sentences
from harness import ChildFailed, child

# family -> the file that its models learn from, and the file that they are queried with
FILES = {
    "words": ("text.txt", ""),
    "classify": ("labeled.txt", "held_out.txt"),
    "language": ("text.txt", "held_out.txt"),
    "recommend": ("log.csv", "histories.txt"),
    "graph": ("edges.txt", ""),
}


class TrainedKind(NamedTuple):
    """A model to train: its public name, its family, and its settings."""

    model: str
    family: str
    settings: Mapping[str, Any] = {}


SEED = {"seed": 1}
SHORT = {"epochs": 2, "dim": 16, **SEED}
SESSIONS = {"session": "session", "booked": "booked", "market": "market", "rejected": "rejected"}
TYPES = {"user_type": "user_type", "item_type": "price"}
SIDES = {"items": "items.csv", "side": "market,price"}
SPLIT = {"split": "leave-last-out", "refit": True}
EVENTS = {"features": "user_type,price", **SHORT}  # of towers
STOPPED = {**SEED, "epochs": 20, "patience": 1}  # the loss of held-out data soon rises
# every registered model, and what is trained by other code: other engines and layers, early stopping, users
TRAINED = {
    "skipgram": TrainedKind("SkipGram", "words", SHORT),
    "hierarchical": TrainedKind("SkipGram", "words", {**SHORT, "output": "hierarchical"}),
    "skipgram-torch": TrainedKind("SkipGram", "words", {**SHORT, "engine": "torch"}),
    "skipgram-cells": TrainedKind("SkipGram", "words", {**SHORT, "on": "cells", "output": "softmax"}),
    "cbow": TrainedKind("CBOW", "words", SHORT),
    "fasttext": TrainedKind("FastText", "words", SHORT),
    "glove": TrainedKind("GloVe", "words", SHORT),
    "svd": TrainedKind("SVD", "words", {"dim": 16, **SEED}),
    "classifier": TrainedKind("Classifier", "classify", SHORT),
    "classifier-validation": TrainedKind(
        "Classifier", "classify", {**STOPPED, "validation": 0.2, "lr": 1.0, "output": "one_vs_all"}
    ),
    "ngram": TrainedKind("NGramModel", "language"),
    "neural": TrainedKind("NeuralLM", "language", SHORT),
    "neural-validation": TrainedKind(
        "NeuralLM",
        "language",
        {**STOPPED, "validation": "held_out.txt", "lr": 0.02, "dim": 16, "dropout": 0.0},
    ),
    "mixture": TrainedKind("Mixture", "language"),
    "item2vec": TrainedKind("Item2Vec", "recommend", SHORT),
    "item2vec-refit": TrainedKind("Item2Vec", "recommend", {**STOPPED, **SPLIT, "users": "vector"}),
    "session": TrainedKind("SessionVectors", "recommend", {**SHORT, **SESSIONS, **TYPES}),
    "graph": TrainedKind("ItemGraph", "recommend", SHORT),
    "eges": TrainedKind("EGES", "recommend", {**SHORT, **SIDES}),
    "popularity": TrainedKind("Popularity", "recommend"),
    "recent-popularity": TrainedKind("RecentPopularity", "recommend", SPLIT),
    "itemknn": TrainedKind("ItemKNN", "recommend"),
    "last-cosine": TrainedKind("LastCosine", "recommend"),
    "ease": TrainedKind("EASE", "recommend"),
    "session-knn": TrainedKind("SessionKNN", "recommend", {"session": "session"}),
    "skip-markov": TrainedKind("SkipMarkov", "recommend"),
    "sasrec": TrainedKind("SASRec", "recommend", EVENTS),
    "gru4rec": TrainedKind("GRU4Rec", "recommend", {**SHORT, **SPLIT}),
    "youtube-dnn": TrainedKind("YouTubeDNN", "recommend", {**EVENTS, **SIDES}),
    "mind": TrainedKind("MIND", "recommend", EVENTS),
    "sdm": TrainedKind("SDM", "recommend", {**SHORT, **SIDES}),
    "graph-vectors": TrainedKind("GraphVectors", "graph", SHORT),
}


def compare_bytes(checkouts: Mapping[str, Checkout], names: Iterable[str], folder: Path) -> bool:
    """Train kinds in both checkouts, print how they differ; return whether nothing was lost or changed."""
    data = folder / "data"
    write_data(data)
    found = {}
    for name in names:
        found[name] = outcome(name, checkouts, data, folder / name)
        print(f"{name:24}{found[name].told}", flush=True)
    equal = sum(each.equal for each in found.values())
    print(f"{equal} of {len(found)} kinds are equal")
    return all(each.fine for each in found.values())


def write_data(folder: Path) -> None:
    """Write the data of all families."""
    folder.mkdir()
    write_sentences(folder / "text.txt", 1000)
    write_sentences(folder / "labeled.txt", 500, labeled=True)
    write_sentences(folder / "held_out.txt", 300, seed=2)
    write_log(folder / "log.csv", 500)
    write_histories(folder / "histories.txt", 50)
    write_edges(folder / "edges.txt", 100)


class Outcome(NamedTuple):
    """What came out for a kind: whether both sides are equal, whether that is fine, and what is told."""

    equal: bool
    fine: bool
    told: str


def outcome(name: str, checkouts: Mapping[str, Checkout], data: Path, folder: Path) -> Outcome:
    """Train a kind in all checkouts and compare. A kind that is new is fine, one that is lost is not."""
    known, failed = {}, []
    for side, checkout in checkouts.items():
        (folder / side).mkdir(parents=True)
        try:
            known[side] = learn(TRAINED[name], checkout, data, folder / side)
        except ChildFailed as error:
            failed.append(f"failed {side}: {str(error).strip().splitlines()[-1]}")
    if failed:
        return Outcome(False, False, "; ".join(failed))
    if not all(known.values()):
        sides = [side for side, there in known.items() if there]
        return Outcome(False, "before" not in sides, f"only {sides[0]}" if sides else "in neither")
    _, answer = child("compare_folders", {side: str(folder / side) for side in checkouts})
    notes = "".join(f"; {note}" for note in answer["notes"])
    if answer["differences"]:
        lines = "".join(f"\n    {line}" for line in answer["differences"])
        return Outcome(False, False, f"differs{notes}{lines}")
    return Outcome(True, True, f"equal: {answer['compared']}{notes}")


def learn(kind: TrainedKind, checkout: Checkout, data: Path, folder: Path) -> bool:
    """Train a kind in a checkout; return whether the checkout has it."""
    source, questions = FILES[kind.family]
    job = {**kind._asdict(), "source": source, "questions": questions}
    _, answer = checkout.ask("learn_revision", {**job, "data": str(data), "folder": str(folder)})
    return bool(answer["known"])
