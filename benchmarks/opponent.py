"""The library's training against a bare kernel written for one case only.

    python benchmarks/opponent.py CORPUS --opponent simd_skipgram.py [--rounds 5] [--dim 100]

The opponent is a Python file with `Shape`, `LANES` and `train(shape, ids, keep, noise, in_vectors,
out_vectors, lr, seed, start, stop)`: skip-gram with five negatives, window 5, no loss, no repeats merged,
constant learning rate. Both train one epoch on one thread in this process, round by round, on the same ids
and the same keep probabilities; the library with all it does otherwise: loss, repeats, checks. Prints words/s
and the median of the ratios.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from options import existing, new_parser

from unhot import Corpus, SkipGram
from unhot.corpus.encoding import encode
from unhot.noise.rules import unigram
from unhot.types import Counts, Ids
from unhot.vocab.subsampling import keep_probability

SAMPLE = 1e-3
NOISE_CELLS = 1 << 22


def main() -> None:
    """Parse, measure, print."""
    parser = new_parser(__doc__, rounds=5)
    parser.add_argument("corpus", type=existing)
    parser.add_argument("--opponent", type=existing, required=True)
    parser.add_argument("--dim", type=int, default=100)
    options = parser.parse_args()
    with encode(options.corpus) as corpus:
        opponent = Opponent(options.opponent, corpus, options.dim)
        model = SkipGram(dim=options.dim, epochs=1, threads=1, sample=SAMPLE)
        for run in (opponent.train, lambda: model.fit(corpus)):  # compiles, and touches all memory once
            run()
        ratios = []
        for number in range(options.rounds):
            theirs = corpus.words / opponent.train()
            ours = corpus.words / model.fit(corpus).history.seconds
            ratios.append(ours / theirs)
            speeds = f"unhot {ours:,.0f} words/s, opponent {theirs:,.0f} words/s"
            print(f"round {number + 1}: {speeds}, ratio {ratios[-1]:.3f}", flush=True)
    print(f"median of ratios: {statistics.median(ratios):.3f}")


class Opponent:
    """The bare kernel, fed with the same ids."""

    def __init__(self, path: Path, corpus: Corpus, dim: int) -> None:
        spec = importlib.util.spec_from_file_location("opponent", path)
        if spec is None or spec.loader is None:
            raise SystemExit(f"{path}: not a Python file")
        self._module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._module)
        counts = corpus.vocabulary.counts
        self._ids = with_line_ends(corpus)
        self._keep = keep_probability(counts, SAMPLE).astype(np.float32)
        self._noise = noise_cells(counts)
        self._words, self._dim = len(counts), dim

    def train(self) -> float:
        """Seconds of one epoch from a fresh start."""
        module, dim = self._module, self._dim
        stride = -(-dim // module.LANES) * module.LANES
        in_vectors = np.zeros((self._words, stride), np.float32)
        in_vectors[:, :dim] = (np.random.default_rng(1).random((self._words, dim)) - 0.5) / dim
        out_vectors = np.zeros_like(in_vectors)
        shape = module.Shape((0,) * (stride // module.LANES), (0,) * 6, (0,) * 2)
        start = time.perf_counter()
        module.train(
            shape,
            self._ids,
            self._keep,
            self._noise,
            in_vectors,
            out_vectors,
            np.float32(0.025),
            1,
            0,
            len(self._ids),
        )
        return time.perf_counter() - start


def with_line_ends(corpus: Corpus) -> Ids:
    """All ids, with -1 behind every sentence."""
    parts = [np.insert(shard.ids, shard.starts[1:], -1) for shard in corpus.shards]
    return np.concatenate(parts).astype(np.int32)


def noise_cells(counts: Counts) -> Ids:
    """A table of ids, each as often as its share of the noise."""
    found = np.searchsorted(np.cumsum(unigram(counts, 0.75)), (np.arange(NOISE_CELLS) + 0.5) / NOISE_CELLS)
    cells: Ids = found.clip(0, len(counts) - 1).astype(np.int32)
    np.random.default_rng(1).shuffle(cells)
    return cells


if __name__ == "__main__":
    main()
