"""What each term of session vectors brings, on generated shops whose truth is known: with it and without it.

    python benchmarks/session_terms.py [--shops 5]

booked      how much higher x . o of a booked item is than that of other items, for items of the session that
            no window joins with it
rejected    likewise, for items that a user was rejected for
market      how often an item of the same taste is above one of another taste, within the market
types       how much less new users go with expensive items than known users do (new users are rejected there)

Writes `docs/results/session-terms.csv` and a page from it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness import RESULTS, commit, machine, say
from report import Table

from unhot.data.shop import EXPENSIVE, Shop, make_shop, write_shop
from unhot.models.session_vectors import SessionVectors
from unhot.types import Bytes, Counts, Floats

TERMS: dict[str, dict[str, str]] = {
    "booked": {"booked": "booked"},
    "rejected": {"rejected": "rejected"},
    "market": {"market": "market"},
    "types": {"rejected": "rejected"},
}
TYPES = {"booked": "booked", "user_type": "user_type", "item_type": "price"}
MEANING = {
    "booked": "score of booked items - score of other items, further apart than a window",
    "rejected": "score of rejected items - score of other items, further apart than a window",
    "market": "same taste above another taste, within a market, in percent",
    "types": "new users: score of expensive - cheap types, minus the same of known users",
}


def main() -> None:
    """Parse, measure, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shops", type=int, default=5)
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {term: [] for term in TERMS}
    with (
        tempfile.TemporaryDirectory() as folder,
        Table(
            RESULTS / "session-terms.csv", ("shop", "term", "without", "with"), {"commit": commit()}
        ) as table,
    ):
        for seed in range(1, options.shops + 1):
            shop = make_shop(users=1000, items=240, tastes=6, markets=4, noise=0.5, seed=seed)
            write_shop(shop, Path(folder) / "log.csv")
            for term, columns in TERMS.items():
                more = {**TYPES, "epochs": 30} if term == "types" else {"epochs": 10}
                pair = [_figure(term, shop, _fitted(folder, {**more, **each})) for each in ({}, columns)]
                found[term].append((pair[0], pair[1]))
                table.add({"shop": seed, "term": term, "without": pair[0], "with": pair[1]})
                say(f"shop {seed}, {term}: {pair[0]:.3f} without, {pair[1]:.3f} with")
    lines = [
        "# What each term of session vectors brings",
        "",
        f"{options.shops} generated shops (1,000 users, 240 items, 6 tastes, 4 markets, half of the clicks "
        f"at random), window 1, dim 32; means over the shops, and how many of them agree; {machine()}; "
        f"commit {commit()}. Made by `benchmarks/session_terms.py`.",
        "",
        "| term | what is measured | without | with | shops in which it moves so |",
        "|---|---|--:|--:|--:|",
    ]
    for term, pairs in found.items():
        without, with_ = np.mean(pairs, axis=0)
        agree = sum((b > a) == (with_ > without) for a, b in pairs)
        lines.append(f"| {term} | {MEANING[term]} | {without:.3f} | {with_:.3f} | {agree} of {len(pairs)} |")
    (RESULTS / "session-terms.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    say("\n".join(lines))


def _fitted(folder: str, settings: dict[str, Any]) -> SessionVectors:
    how: dict[str, Any] = {"dim": 32, "window": 1, "session": "session", "threads": 1, **settings}
    return SessionVectors(**how).fit(Path(folder) / "log.csv", note=lambda line: None)


def _figure(term: str, shop: Shop, model: SessionVectors) -> float:
    if term == "types":
        return _less_wanted(model)
    rows = [model.catalogue.index[item] for item in shop.items]
    params = model.learned.params
    scores = params.in_vectors[rows] @ params.out_vectors[rows].T
    if term == "market":
        return 100 * _told_apart(shop, scores)
    return _gap(shop, scores, shop.booked if term == "booked" else shop.rejected)


def _less_wanted(model: SessionVectors) -> float:
    assert model.types is not None
    dear, found = {f"item:{price}" for price in range(EXPENSIVE, 5)}, []
    for user in ("user:new", "user:known"):
        scores = {word: s for word, s in model.types.scores(user).items() if word.startswith("item:")}
        cheap = np.mean([scores[word] for word in scores.keys() - dear])
        found.append(float(np.mean([scores[word] for word in dear]) - cheap))
    return found[0] - found[1]


def _told_apart(shop: Shop, scores: Floats) -> float:
    right = []
    for i in range(len(shop.items)):
        near = (shop.market_of == shop.market_of[i]) & (np.arange(len(shop.items)) != i)
        same = shop.taste_of == shop.taste_of[i]
        right.append((scores[i][near & same][:, None] > scores[i][near & ~same]).mean())
    return float(np.mean(right))


def _gap(shop: Shop, scores: Floats, mark: Bytes) -> float:
    order: Counts = np.lexsort((shop.time, shop.session))
    session, item, marked = shop.session[order], shop.item[order], mark[order].astype(bool)
    found: dict[bool, list[Any]] = {True: [], False: []}
    for gap in range(2, 12):
        for a, b in ((slice(None, -gap), slice(gap, None)), (slice(gap, None), slice(None, -gap))):
            same = (session[a] == session[b]) & (item[a] != item[b]) & ~marked[a]
            for kind, scored in found.items():
                here = same & (marked[b] == kind)
                scored.append(scores[item[a][here], item[b][here]])
    return float(np.concatenate(found[True]).mean() - np.concatenate(found[False]).mean())


if __name__ == "__main__":
    main()
