"""Search for recommendations among a million items: exact and by a graph, beside the bare matrix product.

    python benchmarks/inner_products.py MODEL [--rows 1000000] [--users 1000] [--k 100] [--rounds 5]

MODEL is a recommender with vectors, trained with a split: it keeps its questions. Its item vectors are
repeated up to the number of rows; each copy gets Gaussian noise of half of each column's standard deviation.
The users are those of its test.

The bare product is that of BLAS alone, users x rows in blocks, the quickest of several sizes; nothing is
chosen from it. The graph answers one user at a time, and so does exact search beside it. Writes
`docs/results/inner-products.csv` and a page from it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import RESULTS, commit, machine, say
from report import Table, read_rows, spread

import unhot
from unhot.index import HnswSettings, InnerProduct
from unhot.items.histories import case_blocks
from unhot.models.log_data import cases_again

BLOCKS = (16, 64, 256)  # users of a bare product
SINGLE = 50  # users who ask one after another, in a round
SEED = 1
COLUMNS = ("round", "product_s", "exact_s", "exact_one_ms", "graph_one_ms")


def main() -> None:
    """Parse, measure round by round, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=1_000)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--width", type=int, default=400, help="candidates that the graph keeps; default: 400"
    )
    options = parser.parse_args()
    settings = HnswSettings(expansion_search=options.width)
    model = unhot.load(options.model)
    rows, users = many_rows(model.out_vectors.vectors, options.rows), users_of(model, options.users)
    exact = InnerProduct(rows, threads=options.threads)
    build, graph = timed(lambda: InnerProduct(rows, graph=settings, threads=options.threads))
    truth, near = (index.search(users, options.k)[0] for index in (exact, graph))
    shared = sum(len(np.intersect1d(*pair)) for pair in zip(truth, near, strict=True))
    facts = {
        "model": model.name,
        **{name: getattr(options, name) for name in ("rows", "users", "k", "threads", "width")},
        "dim": rows.shape[1],
        "recall": round(shared / truth.size, 4),
        "build_s": round(build, 1),
        "commit": commit(),
        "machine": machine(),
    }
    path = RESULTS / "inner-products.csv"
    with Table(path, COLUMNS, facts) as table:
        for number in range(1, options.rounds + 1):
            found = measured(rows, users, exact, graph, options.k)
            table.add({"round": number, **{name: round(value, 4) for name, value in found.items()}})
            say(f"round {number}: {found}")
    path.with_suffix(".md").write_text(page(path), encoding="utf-8")


def many_rows(items: Any, number: int) -> Any:
    """Return the rows of items, repeated with noise."""
    rng = np.random.default_rng(SEED)
    found = np.resize(items, (number, items.shape[1])).astype(np.float32)
    found += rng.standard_normal(found.shape, np.float32) * (0.5 * items.std(axis=0))
    return found


def users_of(model: Any, number: int) -> Any:
    """Return the vectors of the users of the test; of several interests the first."""
    cases = cases_again(model, "test").sample(number)
    known = np.array([model.catalogue.index.get(item, -1) for item in cases.item_words], np.int32)
    users = np.full(len(cases.user_words) + 1, -1, np.int32)
    found = [model.answers.user_vectors(part[0]) for part in case_blocks(cases, known, users, number)]
    vectors = np.concatenate(found)
    return vectors if vectors.ndim == 2 else vectors[:, 0]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of some work, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def measured(rows: Any, users: Any, exact: InnerProduct, graph: InnerProduct, k: int) -> dict[str, float]:
    """Return the seconds of each way, and the milliseconds of one question."""

    def product(size: int) -> None:
        room = np.empty((size, len(rows)), np.float32)
        for first in range(0, len(users), size):
            part = users[first : first + size]
            np.matmul(part, rows.T, out=room[: len(part)])

    def one_by_one(index: InnerProduct) -> float:
        return timed(lambda: [index.search(user[None], k) for user in users[:SINGLE]])[0] / SINGLE

    return {
        "product_s": min(timed(partial(product, size))[0] for size in BLOCKS),
        "exact_s": timed(lambda: exact.search(users, k))[0],
        "exact_one_ms": 1000 * one_by_one(exact),
        "graph_one_ms": 1000 * one_by_one(graph),
    }


def page(path: Path) -> str:
    """Return the page."""
    rows = read_rows(path)
    first = rows[0]

    def ratio(column: str, other: str) -> str:
        found = spread(float(row[column]) / float(row[other]) for row in rows)
        return "-" if found is None else found.text(".2f")

    def median(column: str, form: str) -> str:
        found = spread(float(row[column]) for row in rows)
        return "-" if found is None else found.text(form)

    return (
        "# Search for recommendations\n\nGenerated by `benchmarks/inner_products.py` from "
        f"[{path.name}]({path.name}).\n\n{first['machine']}, commit {first['commit']}, {first['threads']} "
        f"threads. {int(first['rows']):,} rows of {first['dim']} numbers, made of the item vectors of a "
        f"{first['model']} model with noise; the {first['k']} best items for each of {first['users']} users. "
        f"The graph has expansion_search={first['width']}. Medians (least..most) of the rounds; a ratio is "
        "that of the same round.\n\n"
        "| | |\n| :-- | --: |\n"
        f"| bare matrix product, all users | {median('product_s', '.2f')} s |\n"
        f"| exact search, all users | {median('exact_s', '.2f')} s |\n"
        f"| exact search / bare product | {ratio('exact_s', 'product_s')} |\n"
        f"| exact search, one user | {median('exact_one_ms', '.1f')} ms |\n"
        f"| graph, one user | {median('graph_one_ms', '.2f')} ms |\n"
        f"| exact / graph, one user | {ratio('exact_one_ms', 'graph_one_ms')} |\n"
        f"| items of the exact answer that the graph finds | {100 * float(first['recall']):.1f} % |\n"
        f"| building the graph | {float(first['build_s']):.0f} s |\n"
    )


if __name__ == "__main__":
    main()
