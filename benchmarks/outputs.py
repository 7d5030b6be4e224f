"""What each output layer costs: the same model, text and settings with every one of them.

    python benchmarks/outputs.py CORPUS [--rounds 3] [--threads 1] [--dim 100] [--name outputs]

Skip-gram trains one epoch with each layer, all in this process and round by round. A layer over the whole
vocabulary would take hours on the whole text, so slow layers are trained on its first words only (`WORDS`);
the vocabulary is always that of all the text. Writes docs/results/<name>.csv and <name>.md: words/s, and
examples/s, that is (input, target) pairs trained.

Then, with random numbers, the full softmax over 10,000 words on one thread: how the scoring of all words
compares with numpy's `O @ x` on the same numbers, and what the whole step takes (score, link, update).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness import ONE_BLAS_THREAD, rounds, say
from options import existing, new_parser, results_path
from report import Row, Table, cell, cells, head, markdown_table, of_tool, origin, ratio, read_rows, spread

os.environ.update(ONE_BLAS_THREAD)  # before numpy is imported

import numpy as np  # noqa: E402

from unhot import Corpus, SkipGram  # noqa: E402
from unhot.corpus.encoding import encode  # noqa: E402
from unhot.kernels.aligned import aligned_zeros  # noqa: E402
from unhot.kernels.jit import kernel  # noqa: E402
from unhot.kernels.simd.lanes import LANES  # noqa: E402
from unhot.kernels.simd.ranges import exponentials, largest, scale_all, score_all, update_all  # noqa: E402
from unhot.kernels.simd.tiles import shape  # noqa: E402

LAYERS = (
    *("negative:k=5", "nce:k=5", "sampled_logistic:k=5", "sampled:k=5", "hierarchical", "nce:k=25"),
    *("sampled:k=100", "class_based", "softmax", "self_normalized", "one_vs_all:bias=true"),
)
# that a layer is trained on; others: all
WORDS = {"nce:k=25": 1_000_000, "sampled:k=100": 1_000_000, "class_based": 1_000_000}
WORDS |= dict.fromkeys(("softmax", "self_normalized", "one_vs_all:bias=true"), 3_000)
COLUMNS = (
    *("round", "tool", "threads", "words", "vocabulary", "pairs"),
    *("seconds", "words_per_second", "pairs_per_second", "loss"),
)
FIGURES = {"words_per_second": ",.0f", "pairs_per_second": ",.0f"}
SOFTMAX_WORDS = 10_000
SOFTMAX_DIM = 100
REPEATS = 200


def main() -> None:
    """Parse, measure, write the page."""
    parser = new_parser(__doc__, rounds=3, name="outputs")
    parser.add_argument("corpus", type=existing)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dim", type=int, default=100)
    options = parser.parse_args()
    path = results_path(options)
    with encode(options.corpus) as corpus:
        measure_layers(options, corpus, path)
    text = page(options.name, read_rows(path), softmax_lines(options.rounds))
    path.with_suffix(".md").write_text(text, encoding="utf-8")


def measure_layers(options: argparse.Namespace, corpus: Corpus, path: Path) -> None:
    """Every layer in every round."""
    counts = dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True))
    texts = {
        words: encode(first_words(options.corpus, words), counts=counts) for words in set(WORDS.values())
    }
    models = {
        spec: SkipGram(dim=options.dim, epochs=1, threads=options.threads, output=spec) for spec in LAYERS
    }
    for model in models.values():
        model.warm_up()
    with Table(path, COLUMNS, origin(["numpy", "numba"])) as table:
        for number, spec in rounds(options.rounds, LAYERS):
            history = models[spec].fit(texts[WORDS[spec]] if spec in WORDS else corpus).history
            row = {
                "words": history.words,
                "vocabulary": len(corpus.vocabulary),
                "pairs": history.pairs,
                "seconds": round(history.seconds, 3),
                "words_per_second": round(history.words / history.seconds),
                "pairs_per_second": round(history.pairs / history.seconds),
                "loss": round(history.losses[-1], 4),
            }
            table.add({"round": number, "tool": spec, "threads": options.threads, **row})
            speed = f"{row['words_per_second']:,} words/s, {row['pairs_per_second']:,} examples/s"
            say(f"round {number}  {spec:20}  {speed}")
    for text in texts.values():
        text.close()


def first_words(path: Path, words: int) -> list[list[str]]:
    """The first lines of a text, up to so many words."""
    out: list[list[str]] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            if words <= 0:
                break
            out.append(line.split()[:words])
            words -= len(out[-1])
    return out


def page(name: str, rows: Sequence[Row], softmax: str) -> str:
    """The results as Markdown."""
    lines = []
    for spec in LAYERS:
        own = of_tool(rows, spec)
        share = ratio(rows, "pairs_per_second", spec, "negative:k=5", ".3g")
        times = ratio(rows, "pairs_per_second", spec, "softmax", ",.3g")
        lines.append([f"`{spec}`", *cells(own, FIGURES), share, times])
    header = ["layer", "words/s", "examples/s", "examples/s / negative:k=5", "examples/s / softmax"]
    some = ", ".join(f"{spec} {words:,}" for spec, words in WORDS.items())
    facts = [f"threads: {rows[0]['threads']}; vocabulary: {int(rows[0]['vocabulary']):,} words"]
    notes = (
        "Skip-gram, one epoch, window 5, sample 1e-3. Slow layers are trained on the first words of the\n"
        f"text only: {some}.\n"
        f"A figure is the median over {len({row['round'] for row in rows})} rounds (least..most), "
        "a ratio the median of the ratios of each round.\n"
    )
    return "\n".join([head("outputs", name, rows, facts, []), notes, markdown_table(header, lines), softmax])


@kernel
def score_only(tile: Any, x: Any, o: Any, scores: Any) -> None:
    """The first phase."""
    score_all(tile, x, 0, o, o.shape[0], scores)


@kernel
def whole_step(tile: Any, x: Any, o: Any, scores: Any, gradient: Any) -> None:
    """All phases, for a target of which nothing is learned."""
    score_all(tile, x, 0, o, o.shape[0], scores)
    top = largest(scores, o.shape[0])
    z = exponentials(scores, o.shape[0], top)
    scale_all(scores, o.shape[0], np.float32(-1e-9) / np.float32(z))
    update_all(tile, x, 0, o, o.shape[0], scores, gradient)


def softmax_lines(count: int) -> str:
    """The full softmax beside numpy's matrix product."""
    stride = -(-SOFTMAX_DIM // LANES) * LANES
    tile, rng = shape(stride, 1, 1), np.random.default_rng(1)
    o, x = aligned_zeros((SOFTMAX_WORDS, stride)), aligned_zeros((1, stride))
    o[:, :SOFTMAX_DIM] = rng.normal(size=(SOFTMAX_WORDS, SOFTMAX_DIM))
    x[:, :SOFTMAX_DIM] = rng.normal(size=SOFTMAX_DIM)
    plain, vector = np.ascontiguousarray(o[:, :SOFTMAX_DIM]), np.ascontiguousarray(x[0, :SOFTMAX_DIM])
    scores, gradient = aligned_zeros(SOFTMAX_WORDS + 2 * LANES), aligned_zeros((1, stride))
    runs: dict[str, Callable[[], Any]] = {
        "numpy": lambda: plain @ vector,
        "score": lambda: score_only(tile, x, o, scores),
        "step": lambda: whole_step(tile, x, o, scores, gradient),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _, name in rounds(max(count, 5), tuple(runs)):
        runs[name]()
        start = time.perf_counter()
        for _ in range(REPEATS):
            runs[name]()
        seconds[name].append((time.perf_counter() - start) / REPEATS)
    shares = [theirs / ours for theirs, ours in zip(seconds["numpy"], seconds["score"], strict=True)]
    micro = {name: statistics.median(values) * 1e6 for name, values in seconds.items()}
    lines = (
        f"## Full softmax, {SOFTMAX_WORDS:,} words, dim {SOFTMAX_DIM}, one thread\n\n"
        f"numpy's `O @ x`: {micro['numpy']:.0f} us; our score phase: {micro['score']:.0f} us, that is "
        f"{cell(spread(shares), '.2f')} times its speed (median of the ratios, least..most); the whole step "
        f"(score, link, update): {micro['step']:.0f} us.\n"
    )
    say(lines)
    return lines


if __name__ == "__main__":
    main()
