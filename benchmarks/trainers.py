"""How each tool trains: the same text, the same parameters, its own default learning rate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from harness import ChildFailed, Run, child, run
from text import Text

TOOLS = ("unhot", "gensim", "fasttext")
PACKAGES = {"unhot": ("numba",), "gensim": ("gensim",), "fasttext": ("fasttext",)}

WINDOW = 5
K = 5
MIN_COUNT = 5
SAMPLE = 1e-3


class Setup(NamedTuple):
    """What one run trains."""

    model: str  # skipgram or cbow
    dim: int
    threads: int
    epochs: int
    seed: int
    output: str = f"negative:k={K}"  # or hierarchical, which all tools have


def train(tool: str, text: Text, setup: Setup, saved: Path) -> dict[str, Any]:
    """Train in a process of its own, save to a path, and return the columns of the run."""
    if tool == "unhot":
        done, answer = train_unhot(text, setup, saved)
    else:
        done, answer = train_peer(tool, text, setup, saved)
    return {
        "tool": tool,
        **setup._asdict(),
        "lr": answer["lr"],
        "words": text.words,
        "vocabulary": answer["vocabulary"],
        "train_seconds": round(answer["seconds"], 3),
        "words_per_second": round(text.words * setup.epochs / answer["seconds"]),
        **done.columns(),
        "loss": answer.get("loss", ""),
    }


def train_peer(tool: str, text: Text, setup: Setup, saved: Path) -> tuple[Run, dict[str, Any]]:
    """Train with gensim or fastText."""
    fixed = {"window": WINDOW, "k": K, "min_count": MIN_COUNT, "sample": SAMPLE}
    return child(f"train_{tool}", {"text": str(text.path), "vectors": str(saved), **fixed, **setup._asdict()})


def train_unhot(text: Text, setup: Setup, saved: Path) -> tuple[Run, dict[str, Any]]:
    """Train with unhot's command line; it logs what it did."""
    log = saved.with_suffix(".jsonl")
    options = {
        "window": WINDOW,
        "min-count": MIN_COUNT,
        "sample": SAMPLE,
        "tokenizer": "whitespace",
        "log-json": log,
        **setup._asdict(),
    }
    command = [sys.executable, "-m", "unhot", "train", str(text.path), "-o", str(saved)]
    done = run([*command, *(part for name, value in options.items() for part in (f"--{name}", str(value)))])
    return done, read_log(log, text.words * setup.epochs)


def read_log(log: Path, words: int) -> dict[str, Any]:
    """What the log of a training says, in the form of the other tools' answers."""
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    end = events[-1]
    if end["event"] != "done" or end["words"] != words:
        raise ChildFailed(f"unhot's log ends with {end}: the event must be done, after {words} words")
    start = events[0]
    return {
        "seconds": end["seconds"],
        "lr": start["lr"],
        "vocabulary": start["vocabulary"],
        "loss": round(end["loss"], 4),
    }


def evaluate(tool: str, saved: Path, files: dict[str, str]) -> dict[str, Any]:
    """Score what a tool saved; the same evaluator for all."""
    vectors, form = saved, "fasttext" if tool == "fasttext" else "word2vec"
    if tool == "unhot":
        vectors = saved.with_suffix(".bin")
        run([sys.executable, "-m", "unhot", "convert", str(saved), str(vectors)])
    return child("evaluate", {"vectors": str(vectors), "format": form, **files})[1]
