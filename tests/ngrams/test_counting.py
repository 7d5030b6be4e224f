"""Counts are exact, whatever the budget and the number of threads."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import unhot
from tests.ngrams.texts import random_lines
from unhot import NGramModel
from unhot.corpus import encode
from unhot.errors import ConfigError, DataError
from unhot.ngrams import counting, packing
from unhot.ngrams.counting import LineChoice, count_ngrams, held_tokens
from unhot.ngrams.levels import NgramCounts


def counted(counts: NgramCounts) -> dict[str, int]:
    return {
        ngram: times for order in range(1, counts.order + 1) for ngram, times in counts.most_frequent(order)
    }


def by_hand(lines: list[str], order: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in lines:
        tokens = ["<s>", *line.split(), "</s>"]
        for first in range(len(tokens)):
            for last in range(first + 1, min(first + order, len(tokens)) + 1):
                found[" ".join(tokens[first:last])] += 1
    return found


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("section", [10**5, 50, 7])
def test_counts_are_exact(order: int, section: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "TOKEN_BYTES", 10**6 // section)
    lines = random_lines(1, 120, "abcdefghijklmnopqrstuvwxyz", 12)
    with (
        encode(iter(lines), min_count=1, empty_lines=True, unknown=True) as corpus,
        count_ngrams(corpus, order, memory="1MB") as counts,
    ):
        found = {ngram: times for ngram, times in counted(counts).items() if times}
        assert found == by_hand(lines, order)


def test_budget_and_threads_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = random_lines(2, 3000, "abcdefghijklmnopqrstuvwxyz", 20)
    found = set()
    with encode(iter(lines), min_count=3, empty_lines=True, unknown=True) as corpus:
        for section, threads in ((10**5, 1), (10**5, 3), (999, 1), (5000, 2)):
            monkeypatch.setattr(counting, "TOKEN_BYTES", 10**6 // section)
            with count_ngrams(corpus, 4, memory="1MB", threads=threads) as counts:
                levels = [counts.level(order) for order in range(1, 5)]
                found.add(b"".join(np.asarray(part).tobytes() for level in levels for part in level))
                found.add(counts.seen.tobytes())
    assert len(found) == 2


def test_rare_words_and_the_word_unk_are_unknown() -> None:
    lines = ["a a <unk> b", "a a c"]
    with (
        encode(iter(lines), min_count=2, empty_lines=True, unknown=True) as corpus,
        count_ngrams(corpus, 2) as counts,
    ):
        found = counted(counts)
    assert found["<unk>"] == 3
    assert found["<unk> <unk>"] == 1
    assert found["a <unk>"] == 2
    with encode(iter(["<unk> a", "<unk>"]), min_count=1, empty_lines=True, unknown=True) as corpus:
        with count_ngrams(corpus, 1) as counts:
            assert counts.words == ["<unk>", "<s>", "</s>", "a"]
            assert counted(counts) == {"<unk>": 2, "<s>": 2, "</s>": 2, "a": 1}


def test_held_out_lines_are_not_counted() -> None:
    lines = [f"w{i}" for i in range(10)]
    with encode(iter(lines), min_count=1, empty_lines=True, unknown=True) as corpus:
        with count_ngrams(corpus, 1, lines=LineChoice(5)) as counts:
            times = dict(counts.most_frequent(1))
            words = counts.words
        held = held_tokens(corpus, 5)
    assert [word for word in lines if not times[word]] == ["w4", "w9"]
    assert [words[i] for i in held.tolist()] == ["<s>", "w4", "</s>", "<s>", "w9", "</s>"]


def test_the_folder_is_removed() -> None:
    with encode(iter(["a b"]), min_count=1, empty_lines=True, unknown=True) as corpus:
        counts = count_ngrams(corpus, 2)
        folder = counts.directory
        assert folder.is_dir()
        counts.close()
    assert not folder.exists()


def test_wrong_input_is_refused() -> None:
    with encode(iter(["a b"]), min_count=1) as corpus, pytest.raises(ConfigError, match="empty_lines=True"):
        count_ngrams(corpus, 2)
    with encode(iter(["a </s> b"]), min_count=1, empty_lines=True, unknown=True) as corpus:
        with pytest.raises(DataError, match="has the word </s>"):
            count_ngrams(corpus, 2)
    with encode(iter(["a b"]), min_count=1, empty_lines=True, unknown=True) as corpus:
        for order, memory, told in ((0, "1GB", "order"), (17, "1GB", "order"), (2, "1kB", "at least 1 MB")):
            with pytest.raises(ConfigError, match=told):
                count_ngrams(corpus, order, memory=memory)


def test_wide_numbers_give_the_same_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # as if the text had more than 2^32 tokens
    lines = random_lines(8, 200)
    usual = NGramModel(order=3, threads=1).fit(iter(lines))
    monkeypatch.setattr(counting, "WIDE", 0)
    monkeypatch.setattr(packing, "ENDS", 1 << 33)
    for compact in (False, True):
        wide = NGramModel(order=3, threads=1, compact=compact).fit(iter(lines))
        assert wide.learned.packed.layout.places > 32
        wide.save(tmp_path / str(compact))
        again = unhot.load(tmp_path / str(compact))
        assert again.scores(lines).tolist() == wide.scores(lines).tolist() == usual.scores(lines).tolist()
