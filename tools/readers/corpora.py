"""Readers of what unhot keeps of a text: encoded corpora, cells, GloVe's files of cells, vocabularies."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from readers.reader import Files, Reader, data_of, files_below
from readers.subword_seeds import GOLDEN
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.corpus.glove_cells import (
    read_glove_cells,
    read_glove_vocabulary,
    write_glove_cells,
    write_glove_vocabulary,
)
from unhot.train.checkpoint import fingerprint
from unhot.vectors.sparse_vectors import SparseVectors
from unhot.vocab.vocabulary import Vocabulary

LINES = ["the cat sat on the mat", "", "caf\u00e9 x\\n \udcff the cat", "the end"]
LABELS = ["a b", "b", "", "c"]


def corpus_seeds(folder: Path) -> list[Files]:
    """Return a plain text; one with unknown words; one with empty lines and labels beside it."""
    found = []
    for number, how in enumerate(
        (
            {"min_count": 1},
            {"min_count": 2, "unknown": True},
            {"min_count": 1, "empty_lines": True},
            {"min_count": 1, "beside": {"labels": iter(LABELS), "users": iter(LABELS)}},
        )
    ):
        encode(iter(LINES), directory=folder / str(number) / "x", threads=1, **how).close()  # type: ignore[arg-type]
        found.append(files_below(folder / str(number)))
    return found


def read_corpus(folder: Path, rng: random.Random) -> str:
    """Open a corpus, and read all of its lines."""
    with Corpus.open(folder / "x") as corpus:
        return check_corpus(corpus)


def check_corpus(corpus: Corpus) -> str:
    """Return what is wrong with a corpus, or an empty string."""
    known = (-1 if corpus.keeping.unknown else 0, len(corpus.vocabulary) - 1)
    for ids, starts in corpus.shards:
        if starts[0] != 0 or starts[-1] != ids.size or (np.diff(starts) < 0).any():
            return f"starts {starts}"
        if ids.size and not known[0] <= ids.min() <= ids.max() <= known[1]:
            return f"ids {ids.min()} to {ids.max()}, not {known}"
    lines = sum(part[0].starts.size - 1 for part in corpus.aligned(0, corpus.sentences, *corpus.beside))
    if lines != corpus.sentences or len(fingerprint(corpus)) != 64 or not str(corpus.report):
        return f"{lines} lines of {corpus.sentences}"
    return next(filter(None, map(check_corpus, corpus.beside.values())), "")


def cells_seeds(folder: Path) -> list[Files]:
    """Return cells of both sides, of one side, and of few words."""
    found = []
    with encode(iter(LINES * 3), min_count=1, threads=1) as corpus:
        for number, how in enumerate(({"sides": "both"}, {"sides": "right", "window": 2}, {"window": 1})):
            cooccurrences(corpus, directory=folder / str(number) / "x", threads=1, **how).close()  # type: ignore[arg-type]
            found.append(files_below(folder / str(number)))
    return found


def read_cells(folder: Path, rng: random.Random) -> str:
    """Open cells, and add them up."""
    with Cells.open(folder / "x") as cells:
        words = len(cells.vocabulary)
        if cells.row_sums().shape != (words,) or cells.column_sums().shape != (words,):
            return f"sums of {words} words"
        heaviest = cells.heaviest(3)
        inside = all(0 <= row < words and 0 <= column < words for row, column, _ in heaviest)
        return "" if inside and len(fingerprint(cells)) == 64 else f"heaviest {heaviest}"


def read_sparse(folder: Path, rng: random.Random) -> str:
    """Open cells as sparse vectors, and ask them for neighbours."""
    vectors = SparseVectors.load(folder / "x")
    vectors.threads = 1
    if not len(vectors):
        return ""
    word = vectors.words[0]
    found = vectors.most_similar(word, topn=3)
    lengths = len(vectors.get_vector(word)), len(vectors.contexts(word, 2))
    return "" if lengths[0] == len(vectors) and len(found) < len(vectors) else f"{found}, {lengths}"


def glove_seeds(folder: Path) -> list[Files]:
    """Return files of GloVe's programs, and files that unhot wrote for them."""
    found = [
        {"x.bin": (GOLDEN / name).read_bytes(), "vocab.txt": (GOLDEN / "glove_vocab.txt").read_bytes()}
        for name in ("glove_cooccur.bin", "glove_shuffled.bin")
    ]
    words = Vocabulary(["the", "caf\u00e9", "\udcff"], [3, 2, 2])
    cells = Cells.from_arrays(words, [0, 2, 3, 4], [1, 2, 0, 0], [1.5, 0.5, 1.5, 0.5])
    write_glove_cells(cells, folder / "x.bin")
    write_glove_vocabulary(words, folder / "vocab.txt")
    return [*found, files_below(folder)]


def read_glove(folder: Path, rng: random.Random) -> str:
    """Read GloVe's files as cells."""
    with read_glove_cells(folder / "x.bin", folder / "vocab.txt") as cells:
        whole = cells.starts[-1] == len(cells) and cells.values.min(initial=1) > 0
        return "" if whole else "cells that are not above zero"


def read_glove_words(folder: Path, rng: random.Random) -> str:
    """Read GloVe's list of words."""
    words = read_glove_vocabulary(folder / "vocab.txt")
    return "" if len(words) == len(words.index) > 0 and words.counts.min() >= 0 else "words twice"


def vocabulary_seeds(folder: Path) -> list[Files]:
    """Return lists of words, with their counts beside them."""
    found = []
    for words in ([], ["a"], ["the", "a\nb", "x\\n", "\r", "\udcff", "", "caf\u00e9", "\ud800"]):
        Vocabulary(words, range(len(words))).save_words(folder / "x.txt")
        counts = np.arange(len(words), dtype="<i8").tobytes()
        found.append({"x.txt": (folder / "x.txt").read_bytes(), "counts": counts})
    return found


def read_vocabulary(folder: Path, rng: random.Random) -> str:
    """Read a list of words, whose counts are as many as there are lines or as they are."""
    data, path = data_of(folder / "counts"), folder / "x.txt"
    counts = np.frombuffer(data[: len(data) // 8 * 8], "<i8")
    if rng.random() < 0.5:
        counts = np.arange(data_of(path).count(b"\n"))
    words = Vocabulary.load(path, counts)
    return "" if len(words) == counts.size == len(words.index) else "another number of words"


READERS = [
    Reader("corpus", corpus_seeds, read_corpus),
    Reader("cells", cells_seeds, read_cells),
    Reader("sparse-vectors", cells_seeds, read_sparse),
    Reader("glove-cells", glove_seeds, read_glove),
    Reader("glove-vocabulary", glove_seeds, read_glove_words, says_where=True),
    Reader("vocabulary", vocabulary_seeds, read_vocabulary, says_where=True),
]
