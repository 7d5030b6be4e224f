"""Corpora of a few ids, and co-occurrences by their definition, in fractions."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from unhot.corpus.corpus import Corpus
from unhot.corpus.report import Report
from unhot.corpus.shards import Shard
from unhot.errors import FormatError
from unhot.kernels.rng import bits_at_integer, stream_key
from unhot.kernels.windows import keep_threshold
from unhot.vocab.subsampling import keep_probability
from unhot.vocab.vocabulary import Vocabulary

WEIGHT = {
    "distance": lambda d, window: Fraction(1, d),
    "flat": lambda d, window: Fraction(1),
    "dynamic": lambda d, window: Fraction(window - d + 1, window),
}

sentences = st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=30), min_size=1, max_size=12)


def corpus_of(*shards, words=None):
    """A corpus of lists of sentences of ids, one for each shard; read-only, as a mapped one."""
    made = []
    for lines in shards:
        ids = np.array([i for line in lines for i in line], np.int32)
        starts = np.cumsum([0, *map(len, lines)])
        ids.flags.writeable = starts.flags.writeable = False
        made.append(Shard(ids, starts))
    ids = np.concatenate([shard.ids for shard in made])
    counts = np.bincount(ids, minlength=words or int(ids.max()) + 1)
    report = Report(words=ids.size, kept=ids.size, sentences=sum(map(len, shards)))
    return Corpus(Path("none"), Vocabulary([f"w{i}" for i in range(counts.size)], counts), made, report)


def check_damage(opened, path, again):
    """A folder is refused if a file of it is cut short, has a line feed too many, or is not there."""
    data = path.read_bytes()
    for cut in {0, 1, len(data) // 2, len(data) - 1}:
        path.write_bytes(data[:cut])
        with pytest.raises(FormatError):
            opened(path.parent)
    path.write_bytes(data + b"\n")
    if path.suffix != ".json":  # white space behind JSON is harmless
        with pytest.raises(FormatError):
            opened(path.parent)
    path.unlink()
    with pytest.raises(FormatError, match=again):
        opened(path.parent)


def kept_sentences(corpus, sample=0.0, seed=1):
    """The sentences without the words that sub-sampling drops in the first epoch."""
    keep = keep_threshold(keep_probability(corpus.vocabulary.counts, sample))
    key, before = int(stream_key(seed, 0, 0)), 0
    for shard in corpus.shards:
        for start, stop in pairwise(shard.starts.tolist()):
            places = ((int(shard.ids[i]), bits_at_integer(key, before + i) >> 32) for i in range(start, stop))
            yield [word for word, bits in places if bits <= keep[word]]
        before += shard.ids.size


def brute_force(corpus, *, window=10, weights="distance", sides="both", sample=0.0, seed=1):
    """{(word, context): value}, as the docstring of cooccurrence.py says it."""
    times = Counter()  # by word, context and distance
    for sentence in kept_sentences(corpus, sample, seed):
        for place, word in enumerate(sentence):
            for other in range(max(0, place - window), min(len(sentence), place + window + 1)):
                if (other < place and sides != "right") or (other > place and sides != "left"):
                    times[word, sentence[other], abs(other - place)] += 1
    found = {}
    for (word, context, distance), count in times.items():
        found[word, context] = found.get((word, context), 0) + count * WEIGHT[weights](distance, window)
    return found


def as_dict(cells):
    """{(row, column): value} of cells."""
    rows = np.repeat(np.arange(len(cells.vocabulary)), np.diff(cells.starts)).tolist()
    return dict(zip(zip(rows, cells.columns.tolist(), strict=True), cells.values.tolist(), strict=True))
