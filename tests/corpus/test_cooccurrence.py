"""Co-occurrences against their definition in fractions, within any budget, and whatever stops them."""

import errno
import math
import os
import re
import tempfile
import tracemalloc
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from grids import SOAK, crossed, examples
from hypothesis import given
from hypothesis import strategies as st
from programs import without_jit
from small_corpora import as_dict, brute_force, corpus_of, sentences

from unhot.corpus import cooccurrence
from unhot.corpus.cells import Cells, CellsWriter
from unhot.corpus.cooccurrence import LARGEST, SIDES, WEIGHTS, cooccurrences, weights_of
from unhot.corpus.encoding import encode
from unhot.corpus.pairing import corpus_pairs
from unhot.errors import ConfigError, DataError
from unhot.sizes import bytes_of
from unhot.vocab.subsampling import keep_probability

LONG = [[(i * i + 3 * i) % 7 for i in range(350)]]  # one sentence
SIX = ["cells.columns", "cells.json", "cells.starts", "cells.values", "counts.bin", "vocab.txt"]
ROOMS = st.integers(0, 200)  # words of a section more than the fewest


@pytest.fixture(scope="module", autouse=True)
def _in_a_hurry():
    """Nobody waits for the disk here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def least(corpus, **how):
    """The smallest budget, as the error says it."""
    with pytest.raises(ConfigError, match="needs at least") as caught:
        cooccurrences(corpus, memory=1, **how)
    return int(re.search(r"at least ([\d,]+) bytes", str(caught.value))[1].replace(",", ""))


def in_sections(corpus, room=0, **how):
    """Cells that are counted in sections, and tasks, as small as can be; and how many sections there were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cooccurrence, "FEWEST", 2 * how.get("window", 10) + 8)
        patch.setattr(cooccurrence, "TASK_CELLS", 1)
        steps = []
        cells = cooccurrences(
            corpus,
            memory=least(corpus, **how) + 8 * room,
            progress=lambda done, total: steps.append((done, total)),
            **how,
        )
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    return cells, steps[-1][1] // len(corpus.vocabulary)


@given(
    st.lists(sentences, min_size=1, max_size=3),
    st.integers(1, 12),
    st.sampled_from(WEIGHTS),
    st.sampled_from(SIDES),
    st.sampled_from([0.0, 0.02, 0.3]),
    st.integers(1, 4),
    ROOMS,
)
@examples(80)
def test_the_definition_to_the_last_bit(shards, window, weights, sides, sample, threads, room):
    corpus = corpus_of(*shards, words=11)  # words 9 and 10 have empty rows
    how = {"window": window, "weights": weights, "sides": sides, "sample": sample, "seed": 7}
    expected = {pair: float(value) for pair, value in sorted(brute_force(corpus, **how).items())}
    with cooccurrences(corpus, threads=threads, **how) as cells:
        assert as_dict(cells) == expected
        assert cells.settings == how
        assert (np.diff(cells.starts)[9:] == 0).all()
        assert all((np.diff(cells.row(i)[0]) > 0).all() for i in range(11))
        assert cells.row_sums().tolist() == pytest.approx(
            [sum(v for (i, _), v in expected.items() if i == word) for word in range(11)]
        )
        assert cells.column_sums().tolist() == pytest.approx(
            [sum(v for (_, j), v in expected.items() if j == word) for word in range(11)]
        )
    small, _ = in_sections(corpus, room, threads=threads, **how)
    with small:
        assert as_dict(small) == expected


@pytest.mark.parametrize(("sides", "sample"), crossed(SIDES, [0.0, 0.05]))
def test_a_long_sentence_in_many_sections(sides, sample):
    corpus = corpus_of([[1, 2], [3]], LONG, [[0], *LONG, [2, 1]])
    expected = {
        pair: float(value)
        for pair, value in brute_force(corpus, window=6, sides=sides, sample=sample).items()
    }
    for room, threads in crossed((0, 1, 5, 300), (1, 3)):
        cells, parts = in_sections(corpus, room, window=6, sides=sides, sample=sample, threads=threads)
        with cells:
            assert parts > (2 if room == 300 else 50)
            assert as_dict(cells) == expected
            assert sorted(path.name for path in cells.directory.iterdir()) == SIX


def test_sections_end_anywhere():
    """Each number of words in a section cuts sentences elsewhere."""
    corpus = corpus_of([[0, 1, 2], [3], [4, 0, 1, 3, 3, 2, 1, 0, 4, 4, 4, 1], [2, 2]] * 3)
    expected = {pair: float(value) for pair, value in brute_force(corpus, window=2).items()}
    parts = set()
    for room in range(80):
        cells, n = in_sections(corpus, room, window=2)
        with cells:
            assert as_dict(cells) == expected
        parts.add(n)
    assert {1, 3, 4, 5} <= parts


@pytest.mark.parametrize("lines", [[[0]], [[0], [1], [0]], [[0] * 3], [[2]] * 40])
def test_one_word_or_no_pair(lines):
    corpus = corpus_of(lines)
    expected = {pair: float(value) for pair, value in brute_force(corpus).items()}
    for cells in (cooccurrences(corpus), in_sections(corpus)[0]):
        with cells:
            assert as_dict(cells) == expected
            assert cells.heaviest(3) == [(0, 0, 5.0)] * bool(expected)


def test_left_is_right_turned_over_and_both_is_their_sum():
    corpus = corpus_of(LONG)
    both, left, right = (as_dict(cooccurrences(corpus, sides=sides)) for sides in SIDES)
    assert {(j, i): value for (i, j), value in left.items()} == right
    assert {(j, i): value for (i, j), value in both.items()} == both
    assert both.keys() == left.keys() | right.keys()
    for pair, value in both.items():
        assert value == pytest.approx(left.get(pair, 0) + right.get(pair, 0), rel=1e-15)


@pytest.mark.parametrize("sample", [0.0, 0.1])
def test_flat_counts_the_pairs_of_training(sample):
    corpus = corpus_of(LONG, [[5, 6], [6, 6, 5, 1]])
    keep = keep_probability(corpus.vocabulary.counts, sample) if sample else None
    pairs = Counter(corpus_pairs(corpus, window=4, shrink=False, keep=keep, seed=3))
    with cooccurrences(corpus, window=4, weights="flat", sample=sample, seed=3) as cells:
        assert as_dict(cells) == pairs
        assert cells.values.sum() == pairs.total()


def test_dynamic_is_the_mean_of_windows_that_shrink():
    corpus, seeds = corpus_of(LONG), 60
    pairs = sum((Counter(corpus_pairs(corpus, window=4, seed=seed)) for seed in range(seeds)), Counter())
    with cooccurrences(corpus, window=4, weights="dynamic") as cells:
        found = as_dict(cells)
    assert found.keys() == pairs.keys()
    # a count is a sum of draws of 0 or 1, so its variance is below its mean
    for pair, value in found.items():
        assert pairs[pair] / seeds == pytest.approx(value, abs=5 * math.sqrt(value / seeds))


@pytest.mark.parametrize("window", range(1, 29))
def test_weights_are_exact_up_to_28_words(window):
    weights = weights_of("distance", "both", window, 10**7)
    assert [Fraction(int(w), weights.unit) for w in weights.left[1:]] == [
        Fraction(1, d) for d in range(1, window + 1)
    ]
    assert weights.left[0] == 0


@pytest.mark.parametrize("most", [1, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("window", [1, 2, 10, 23, 28, 29, 64, 1000, 10_000])
def test_sums_of_weights_fit(window, most):
    weights = weights_of("distance", "both", window, most)
    each = [int(w) for w in weights.left[1:]]
    assert 2 * most * sum(each) <= LARGEST
    for d, weight in enumerate(each, 1):
        assert abs(Fraction(weight, weights.unit) - Fraction(1, d)) <= Fraction(1, 2 * weights.unit)
    assert weights.unit > LARGEST // (8 * most * (1 + math.log(window))) or weights.unit == math.lcm(
        *range(1, window + 1)
    )


def test_weights_by_side():
    assert [w.size for w in weights_of("flat", "left", 3, 1)[:2]] == [4, 1]
    assert [w.size for w in weights_of("flat", "right", 3, 1)[:2]] == [1, 4]
    dynamic = weights_of("dynamic", "both", 4, 1)
    assert (dynamic.left.tolist(), dynamic.unit) == ([0, 4, 3, 2, 1], 4)


@pytest.mark.parametrize("window", [40, 10_000])
def test_wide_windows(window):
    corpus = corpus_of([LONG[0][:150]])
    expected = brute_force(corpus, window=window)
    with cooccurrences(corpus, window=window) as cells:
        found = as_dict(cells)
    assert found.keys() == expected.keys()
    assert max(abs(found[pair] / float(value) - 1) for pair, value in expected.items()) < 1e-12


def test_counts_that_say_less_than_the_text_do_not_overflow(monkeypatch):
    """A vocabulary may be given with any counts; what the text holds decides which sums fit."""
    monkeypatch.setattr(cooccurrence, "LARGEST", 100_000)
    how = {"window": 6, "weights": "distance", "sides": "both", "sample": 0.0, "seed": 1}
    for count in (1, 500, 900):
        with encode([["a"] * 500], counts={"a": count}, min_count=1) as corpus:
            weights = cooccurrence._Counter(corpus, how, 1, 10**9, None)._weights
        assert 2 * 500 * sum(weights.left.tolist()) <= 100_000
        assert weights.unit == 32  # not lcm(1 .. 6) = 60


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("200MB", 2 * 10**8),
        ("1GB", 10**9),
        ("1.5 gb", 1_500_000_000),
        ("64k", 64_000),
        (" 12 ", 12),
        ("2T", 2 * 10**12),
        ("0", 0),
        (7, 7),
    ],
)
def test_sizes(given, size):
    assert bytes_of("memory", given) == size
    assert bytes_of("memory", np.int64(5)) == 5


@pytest.mark.parametrize("memory", ["-1", "12XB", "", "GB", "1e9", "1,5GB", -1, 0, 1.5, None, True])
def test_sizes_that_are_none(memory):
    with pytest.raises(ConfigError, match=r"memory=.*: must be"):
        cooccurrences(corpus_of(LONG), memory=memory)


@pytest.mark.parametrize("memory", ["0", "10kB", 10**6])
def test_too_little_memory_says_how_much_is_needed(memory):
    corpus = corpus_of(LONG)
    need = least(corpus)
    with pytest.raises(
        ConfigError,
        match=f"counting 6 words with 2 threads needs at least {need:,} bytes; allow more, use fewer threads",
    ):
        cooccurrences(corpus, memory=memory)
    with cooccurrences(corpus, memory=need) as cells, cooccurrences(corpus) as others:
        assert as_dict(cells) == as_dict(others)
    with pytest.raises(ConfigError):
        cooccurrences(corpus, memory=need - 1)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"window": 0}, "window=0: must be >= 1"),
        ({"window": 10_001}, "window=10001: must be <= 10000"),
        ({"weights": "square"}, "weights='square': must be one of distance, flat, dynamic"),
        ({"sides": "up"}, "sides='up': must be one of both, left, right"),
        ({"sample": -1}, "sample=-1"),
        ({"seed": -1}, "seed=-1"),
        ({"threads": 0}, "threads=0"),
    ],
)
def test_settings_out_of_range(how, said, tmp_path):
    with pytest.raises(ConfigError, match=said):
        cooccurrences(corpus_of(LONG), directory=tmp_path / "cells", **how)
    assert not (tmp_path / "cells").exists()


@pytest.fixture(scope="module")
def zipf():
    """Many words, few of them often."""
    ids = np.minimum(np.random.default_rng(5).pareto(0.5, 400_000), 39_999).astype(int)
    return corpus_of(np.split(ids, range(1000, ids.size, 1000)), words=200_000)


def buffers(value):
    """Bytes of all arrays that an object holds."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(buffers, value)) if isinstance(value, (tuple, list)) else 0


@pytest.mark.parametrize("threads", [4, 1] if SOAK else [4])
def test_the_budget_is_kept(zipf, threads):
    """Also by what is needed for a moment: all that NumPy allocates is traced."""
    cooccurrences(corpus_of(LONG), threads=threads).close()  # compiled before
    need = least(zipf, threads=threads)
    with cooccurrences(zipf, threads=threads) as whole:
        for memory in (need, need + 8 * 150_000):
            counter = cooccurrence._Counter(zipf, whole.settings, threads, memory, None)
            assert buffers([counter._section, counter._buffers]) < memory
            assert len(counter._parts) > 1
            del counter
            tracemalloc.start()
            with cooccurrences(zipf, threads=threads, memory=memory) as cells:
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                assert 0.8 * memory < peak < memory
                assert np.array_equal(cells.starts, whole.starts)
                assert np.array_equal(cells.columns, whole.columns)
                assert np.array_equal(cells.values, whole.values)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary directory of the process; empty."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, MemoryError])
@pytest.mark.parametrize("step", [1, 30, 60])
def test_whatever_stops_it_leaves_nothing(stop, step, temporary, tmp_path, monkeypatch):
    monkeypatch.setattr(cooccurrence, "FEWEST", 28)
    monkeypatch.setattr(cooccurrence, "TASK_CELLS", 1)
    corpus, old, kept = corpus_of(LONG), tmp_path / "new", tmp_path / "kept"
    cooccurrences(corpus_of([[0, 1]]), directory=kept).close()
    before = {path.name: path.read_bytes() for path in kept.iterdir()}

    def progress(done, total):
        nonlocal calls
        calls += 1
        if calls == step:
            raise stop

    for directory in (None, old, kept):
        calls = 0
        with pytest.raises(stop):
            cooccurrences(corpus, directory=directory, memory=least(corpus), progress=progress)
        assert list(temporary.iterdir()) == []
        assert not old.exists()
        assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_a_kept_directory_is_what_open_finds(tmp_path):
    corpus = corpus_of(LONG)
    with (
        cooccurrences(corpus, directory=tmp_path / "a" / "cells", window=3) as cells,
        Cells.open(tmp_path / "a" / "cells") as again,
    ):
        assert as_dict(cells) == as_dict(again)
        assert again.vocabulary == corpus.vocabulary
        assert again.settings == {
            "window": 3,
            "weights": "distance",
            "sides": "both",
            "sample": 0.0,
            "seed": 1,
        }
        assert again.is_symmetric()
    cooccurrences(corpus, directory=tmp_path / "a" / "cells", window=2, sides="left").close()
    with Cells.open(tmp_path / "a" / "cells") as other:
        assert as_dict(other) == as_dict(cooccurrences(corpus, window=2, sides="left"))
        assert not other.is_symmetric()


def test_temporary_cells_go_with_their_object(temporary):
    with cooccurrences(corpus_of(LONG)) as cells:
        assert list(temporary.iterdir()) == [cells.directory]
    assert list(temporary.iterdir()) == []
    cells = cooccurrences(corpus_of(LONG))
    del cells
    assert list(temporary.iterdir()) == []


def test_a_disk_that_is_full(zipf, temporary, tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for directory in (None, tmp_path / "cells"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
        try:
            with pytest.raises(
                DataError,
                match="disk full: the cells need more than the [1-9].* .B there: make room, give another",
            ):
                cooccurrences(zipf, directory=directory)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert list(temporary.iterdir()) == []
        assert not (tmp_path / "cells").exists()


def test_other_errors_of_the_disk_stay_what_they_are(monkeypatch, temporary):
    def broken(*_):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(CellsWriter, "append", broken)
    with pytest.raises(OSError, match="broken"):
        cooccurrences(corpus_of(LONG))
    assert list(temporary.iterdir()) == []


def test_a_corpus_that_was_closed(tmp_path):
    corpus = corpus_of(LONG)
    corpus.close()
    with pytest.raises(DataError, match="the corpus has no text: it was closed"):
        cooccurrences(corpus, directory=tmp_path / "cells")
    assert not (tmp_path / "cells").exists()


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        cooccurrences(corpus_of(LONG), directory=tmp_path / "file")


def test_as_plain_python():
    """The same without the compiler."""
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from small_corpora import as_dict, brute_force, corpus_of
from unhot.corpus import cooccurrence
from unhot.corpus.cooccurrence import cooccurrences
cooccurrence.FEWEST, cooccurrence.TASK_CELLS = 1, 1
corpus = corpus_of([[0, 1, 2, 0, 70, 3, 1], [4], [2, 70] * 30], [[5, 1]])
for sample in (0.0, 0.1):
    expected = {pair: float(value) for pair, value in brute_force(corpus, window=3, sample=sample).items()}
    for memory in ("1GB", 3_160_000):
        with cooccurrences(corpus, window=3, sample=sample, memory=memory) as cells:
            assert as_dict(cells) == expected
print("right")
"""
    assert without_jit(program, Path(__file__).parent) == "right\n"
