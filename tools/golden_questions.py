"""Query a saved model as its users do.

    info       what `unhot info MODEL --json` prints
    queries    calls in Python, and what they return
    commands   command lines, and what they print

All of them use documented names alone, so that the questions stay the same while the code changes.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import unhot
from unhot.cli.main import main
from unhot.evaluate import predict_links
from unhot.graphs import read_graph
from unhot.vectors.sparse_vectors import SparseVectors

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
INPUTS, MODELS = GOLDEN / "inputs", GOLDEN / "models"
KNOWN = ("cat", "bread", "river", "i0003", "i0006", "i0012", "n0", "n5", "n20")  # words, items, nodes
UNSEEN = "riverside"
HISTORY = ["i0003", "i0006"]
TIMES = (60, 120, 180, 240, 3600)
EVENTS = [  # so many that there are several interests, with a pause before the last one
    {"item": item, "time": time, "user_type": "known", "market": time % 180 // 60, "price": price}
    for item, time, price in zip((*HISTORY, "i0012", "i0001", "i0009"), TIMES, "25413", strict=True)
]
SENTENCES = ["the old cat sleeps near the river", "a xylophone smells of fresh bread", "the dog barks"]
WORD_MODELS = unhot.SkipGram, unhot.CBOW, unhot.FastText
LANGUAGE_MODELS = unhot.NGramModel, unhot.NeuralLM, unhot.Mixture


def asked(folder: Path) -> dict[str, Any]:
    """Return what a saved model answers."""
    info = command(folder, "info MODEL --json")
    model = opened(folder, info.get("model"))
    return {
        "info": info,
        "queries": dict(queries(model)),
        "commands": {f"unhot {line}": command(folder, line) for line in commands(model)},
    }


def opened(folder: Path, kind: str | None) -> Any:
    """Open a saved model and compare its checksums; or open vectors, or cells, which are of no kind."""
    if kind is None:
        return SparseVectors.load(folder)
    return unhot.Vectors.load(folder) if kind == "vectors" else unhot.load(folder, verify=True)


def command(folder: Path, line: str) -> Any:
    """Run a command in this process and return what it prints; MODEL stands for the folder."""
    words = [str(INPUTS / word) if (INPUTS / word).is_file() else word for word in shlex.split(line)]
    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()  # some write to its buffer
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            main([str(folder) if word == "MODEL" else word for word in words])
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"unhot {line}: {folder.name}: {errors.getvalue()}") from ended
    out.seek(0)
    return _read(out.read())


def _read(printed: str) -> Any:
    """Return JSON, lines of JSON, or lines of fields."""
    try:
        return json.loads(printed)
    except ValueError:
        return [[_field(field) for field in line.split("\t")] for line in printed.splitlines()]


def _field(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def queries(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the calls that a model can answer, with their results."""
    if isinstance(model, (unhot.Vectors, SparseVectors)):
        yield from vector_queries(model)
    if hasattr(model, "vectors") and not isinstance(model, unhot.Vectors):
        yield from vector_queries(model.vectors)
    if hasattr(model, "predict_word"):
        yield from prediction_queries(model)
    if isinstance(model, unhot.Classifier):
        yield from classifier_queries(model)
    if isinstance(model, LANGUAGE_MODELS):
        yield from language_queries(model)
    if hasattr(model, "recommend"):
        yield from recommender_queries(model)
    if isinstance(model, unhot.GraphVectors) and model.hold_out:
        yield "predict_links", predict_links(model, read_graph(INPUTS / "edges.txt")).as_dict()
    if isinstance(model, unhot.SVD):
        yield "singular_values", model.singular_values
    if isinstance(model, (unhot.SVD, unhot.GloVe)):
        yield "context_vectors", model.context_vectors[_known(model.context_vectors)[0]]


def _known(vectors: Any) -> list[str]:
    return [word for word in KNOWN if word in vectors.key_to_index]


def vector_queries(vectors: Any) -> Iterator[tuple[str, Any]]:
    """Look up and compare words, items or nodes."""
    first, second, third = _known(vectors)
    yield "len(vectors)", len(vectors)
    yield "words", list(vectors.key_to_index)[:6]
    yield f"most_similar({first})", vectors.most_similar(first, topn=4)
    yield (
        f"most_similar({second} + {third} - {first})",
        vectors.most_similar([second, third], [first], topn=3),
    )
    yield f"similarity({first}, {third})", vectors.similarity(first, third)
    if isinstance(vectors, SparseVectors):
        yield f"contexts({first})", vectors.contexts(first, topn=4)
        return
    yield f"vectors[{second}]", vectors[second]
    if UNSEEN in vectors:
        yield f"vectors[{UNSEEN}]", vectors[UNSEEN]
        yield f"most_similar({UNSEEN})", vectors.most_similar(UNSEEN, topn=4)


def prediction_queries(model: Any) -> Iterator[tuple[str, Any]]:
    """Predict what stands near some words, through the output layer."""
    first, second, third = _known(model.vectors)
    yield f"predict_word({first}, {third})", model.predict_word([first, third], topn=4)
    yield f"head.log_prob({second})", model.head.log_prob(model.vectors[second])[:8]


def classifier_queries(model: Any) -> Iterator[tuple[str, Any]]:
    """Predict and explain labels."""
    yield "classes_", model.classes_
    yield "labels", model.labels
    yield "predict", model.predict(SENTENCES)
    yield "predict(k=2)", model.predict(SENTENCES, k=2)
    yield "predict_proba", model.predict_proba(SENTENCES)
    yield "decision_function", model.decision_function(SENTENCES)
    found = model.explain(SENTENCES[0])
    shares = [[piece.text, piece.share] for decision in found.decisions for piece in decision.shares]
    scores = [[decision.score, decision.bias] for decision in found.decisions]
    yield "explain", [found.label, found.probability, scores, shares]


def language_queries(model: Any) -> Iterator[tuple[str, Any]]:
    """Score sentences, predict the next word, and draw a sentence."""
    yield "score", [model.score(sentence) for sentence in SENTENCES]
    yield "scores(bos=False, eos=False)", model.scores(SENTENCES, bos=False, eos=False)
    yield "full_scores", [list(token) for token in model.full_scores(SENTENCES[0])]
    yield "perplexity", model.perplexity(SENTENCES).perplexity
    yield "next_words(the)", model.next_words("the", k=4)
    yield "entropy(the)", model.entropy("the")
    yield "generate(seed=1)", model.generate(seed=1, words=12)
    yield "generate(the, temperature=0.5)", model.generate("the", temperature=0.5, top_k=5, seed=2, words=12)


def recommender_queries(model: Any) -> Iterator[tuple[str, Any]]:
    """Recommend items for histories, users and types of users; find similar items."""
    others = {"i0001", "i0004", "i0011", "i0015"}
    yield "recommend", model.recommend(HISTORY, k=5)
    yield "recommend(filter)", model.recommend(HISTORY, k=3, filter=others)
    yield "recommend_many", model.recommend_many([HISTORY, HISTORY[:1]], k=3, exclude_seen=False)
    yield f"similar({HISTORY[0]})", model.similar(HISTORY[0], k=4)
    if model.with_users:
        yield "recommend(u0002)", model.recommend("u0002", k=4)
    if hasattr(model, "user_vectors"):
        yield "user_vectors", model.user_vectors([HISTORY, EVENTS, []])
        yield "recommend(events)", model.recommend(EVENTS, k=3)
    if isinstance(model, unhot.EGES):
        if model.combine == "weighted":  # otherwise all parts have the same weight
            yield f"explain({HISTORY[0]})", model.explain(HISTORY[0])
        yield "new_item(price=3)", model.new_item({"price": "3"})


def commands(model: Any) -> Iterator[str]:
    """Yield the command lines for a model."""
    if isinstance(model, unhot.Vectors) or hasattr(model, "vectors"):
        vectors = model if isinstance(model, unhot.Vectors) else model.vectors
        yield f"neighbors MODEL {' '.join(_known(vectors)[:2])} -n 3 --json"
    if isinstance(model, WORD_MODELS):
        yield "evaluate MODEL --text held_out.txt --json"
    if isinstance(model, unhot.FastText):
        yield f"info MODEL --ngrams {UNSEEN} --json"
    if isinstance(model, unhot.Classifier):
        yield "classify predict MODEL held_out.txt -o - -q"
        yield "classify predict MODEL held_out.txt -o - -q -k -1 --threshold 0.2"
        yield f"classify test MODEL {_test_of(model)} --json"
    if isinstance(model, LANGUAGE_MODELS):
        yield "lm score MODEL held_out.txt -o - -q"
        yield "lm perplexity MODEL held_out.txt --json"
        yield "lm generate MODEL the -n 2 --seed 3 --words 8 --json"
        yield "lm generate MODEL --next 3 --json"
    if hasattr(model, "recommend"):
        yield from _recommender_commands(model)
    if isinstance(model, unhot.GraphVectors):
        yield "graph evaluate MODEL --labels node_labels.txt --json"


def _test_of(model: Any) -> str:
    """Return the file with the labels of a classifier, and how to read it."""
    if "garden" in model.labels:
        return "tags.txt -k -1 --threshold 0.4"
    return "labelled_test.txt" if "animals" in model.labels else "numbers_test.csv"


def _recommender_commands(model: Any) -> Iterator[str]:
    yield f"recommend for MODEL --history {' '.join(HISTORY)} -k 4 --json"
    yield f"recommend similar MODEL {HISTORY[1]} -k 3 --json"
    users = "u0001 u0002" if model.with_users else "u0001 u0002 --log log.csv"
    yield f"recommend for MODEL {users} -k 3 --json"
    test = "--prefixes prefixes.txt" if model.split == "none" else "" if model.with_users else "log.csv"
    yield f"recommend evaluate MODEL {test} --at 5 --json"
    if isinstance(model, unhot.EGES):
        yield f"recommend explain MODEL {HISTORY[0]} --json"
    if getattr(model, "side", None) and hasattr(model, "vectors"):
        yield "recommend similar MODEL --values market=1 price=3 -k 3 --json"
        yield f"recommend for MODEL --history {' '.join(HISTORY)} --new new_items.csv --json"
    if isinstance(model, unhot.SessionVectors):
        yield "recommend for MODEL --user-type new -k 4 --json"
