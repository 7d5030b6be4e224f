"""The rows of a classifier and of its lines, against dicts in plain Python."""

import math
from collections import Counter

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus import encode
from unhot.lines.run_hashes import run_hashes, word_hash
from unhot.models import line_bags
from unhot.models.line_bags import line_input, list_units, with_line_ends
from unhot.models.line_engine import row_counts
from unhot.models.ngram_rows import NO_KEYS
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import Vocabulary

WORDS = ["a", "b", "film", "ab", "\u00e9t\u00e9", "good"]
TEXTS = st.lists(
    st.lists(st.sampled_from([*WORDS, "</s>"]), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=9
)
KINDS = [
    {"longest": 1, "maxn": 0, "buckets": 20},
    {"longest": 3, "maxn": 0, "buckets": 20},
    {"longest": 1, "maxn": 3, "buckets": 20},
    {"longest": 2, "maxn": 3, "buckets": 7},
    {"longest": 4, "maxn": 2, "buckets": 1},
]


class Expected:
    """Rows, weights and lines by the definitions: keys are words, or numbers of buckets."""

    def __init__(self, texts, longest, maxn, buckets, kept, idf):
        self.lines = [[*text.split(), "</s>"] for text in texts]
        counts = Counter(word for line in self.lines for word in line)
        self.words = sorted(counts, key=lambda word: (-counts[word], word))
        self.counts = counts
        cut = Subwords(minn=2 if maxn else 0, maxn=maxn, buckets=buckets)
        self.ngrams = {
            word: [word_hash(n) % buckets for n in cut.ngrams(word)] if maxn else [] for word in counts
        }
        self.ngrams["</s>"] = []
        runs = [
            {state % buckets for state in run_hashes(line, longest)} if longest > 1 else set()
            for line in self.lines
        ]
        use = Counter(word for line in self.lines for word in set(line))
        rows = {word: use[word] for word in self.words[:kept]}
        of_buckets = Counter(bucket for some in runs for bucket in some)
        for word, lines in use.items():
            for bucket in self.ngrams[word]:
                of_buckets[bucket] += lines
        rows |= of_buckets
        self.use = rows
        total = len(self.lines)
        self.weight = {
            key: 1 + math.log((1 + total) / (1 + min(df, total))) if idf else 1.0 for key, df in rows.items()
        }
        self.bags = [
            Counter([word for word in set(line) if word in rows])
            + Counter(bucket for word in set(line) for bucket in self.ngrams[word])
            + Counter(some)
            for line, some in zip(self.lines, runs, strict=True)
        ]


def made(texts, longest, maxn, buckets, kept=None, idf=True, also=NO_KEYS):
    subwords = Subwords(minn=2 if maxn else 0, maxn=maxn, buckets=buckets)
    with encode(texts, min_count=1, threads=1) as corpus:
        vocabulary, moved = with_line_ends(corpus.vocabulary, corpus.sentences)
        units = list_units(corpus, vocabulary, moved, longest, buckets)
        kept = len(vocabulary) if kept is None else min(kept, len(vocabulary))
        return vocabulary, units, line_input(vocabulary, units, subwords, kept, idf, also)


def lines_of(found, key_of):
    """The rows of each line with their weights, and words with several rows written out."""
    lines, out = found.lines, []
    for first, last in zip(lines.starts, lines.starts[1:], strict=False):
        bag = Counter()
        for entry, weight in zip(lines.entries[first:last], lines.weights[first:last], strict=True):
            if entry >= 0:
                bag[key_of[entry]] += 1
                assert weight == found.weights[entry]
                continue
            some = slice(lines.bags.starts[-1 - entry], lines.bags.starts[-entry])
            assert some.stop - some.start > 1
            bag.update(key_of[row] for row in lines.bags.rows[some])
            np.testing.assert_array_equal(lines.bag_weights[some], found.weights[lines.bags.rows[some]])
            squares = float((lines.bag_weights[some].astype(np.float64) ** 2).sum())
            assert lines.bags.squares[-1 - entry] == pytest.approx(squares, rel=1e-6)
        out.append(bag)
    return out


@pytest.mark.parametrize("large", [0, 1 << 30], ids=["bags", "written out"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_rows_weights_and_lines(kind, large, monkeypatch):
    monkeypatch.setattr(line_bags, "SMALL", large)
    monkeypatch.setattr(line_bags, "BLOCK", 3)
    monkeypatch.setattr(line_bags, "BLOCK_IDS", 4)

    @examples(15)
    @given(TEXTS, st.booleans(), st.sampled_from([1, 3, 99]))
    def each(texts, idf, kept):
        expected = Expected(texts, **kind, kept=kept, idf=idf)
        vocabulary, _, found = made(texts, **kind, kept=kept, idf=idf)
        assert vocabulary.words == expected.words
        assert vocabulary.counts.tolist() == [expected.counts[word] for word in expected.words]
        key_of = [vocabulary.words[-1 - key] if key < 0 else int(key) for key in found.rows.keys.tolist()]
        assert set(key_of) == set(expected.use)
        assert len(key_of) == len(expected.use)
        use = [expected.use[key] for key in key_of]
        assert use == sorted(use, reverse=True)
        np.testing.assert_allclose(found.weights, [expected.weight[key] for key in key_of], rtol=1e-6)
        assert lines_of(found, key_of) == expected.bags
        assert row_counts(found.lines).tolist() == [sum(bag.values()) for bag in expected.bags]
        assert (found.lines.entries < 0).any() <= (large == 0)

    each()


def test_each_unit_is_listed_once_for_each_line_that_has_it():
    texts = ["a b a b a", "b", "a a"]
    vocabulary, units, _ = made(texts, 2, 0, 1000)
    names = [vocabulary.words[unit] for unit in units.ids if unit < len(vocabulary)]
    assert names == ["a", "b", "</s>", "b", "</s>", "a", "</s>"]
    lines = np.split(units.ids, units.starts[1:-1])
    assert [len(line) for line in lines] == [3 + 3, 2 + 1, 2 + 2]  # words, and runs
    for line in lines:
        assert len(set(line.tolist())) == len(line)
    np.testing.assert_array_equal(units.lines, np.bincount(units.ids, minlength=len(vocabulary) + 1000))


def test_words_that_are_dropped_keep_their_ngrams():
    kind = {"longest": 1, "maxn": 3, "buckets": 10_000}
    vocabulary, _, found = made(["good film", "good"], **kind, kept=1)
    keys = set(found.rows.keys.tolist())
    assert {key for key in keys if key < 0} == {-1}
    for word in ("good", "film"):
        cut = Subwords(minn=2, maxn=3, buckets=10_000)
        assert {word_hash(ngram) % 10_000 for ngram in cut.ngrams(word)} <= keys
    assert vocabulary.words[0] in ("good", "</s>")


def test_keys_of_an_older_model_have_rows_in_any_case():
    _, _, found = made(["good film"], 2, 0, 1000, also=np.array([-1, 7, 999]))
    assert {7, 999} <= set(found.rows.keys.tolist())
    place = found.rows.keys.tolist().index(999)
    assert found.weights[place] == pytest.approx(1 + math.log(2 / 1))  # no line has it


@given(
    st.dictionaries(st.sampled_from(["a", "z", "<", "</s", "</s>", "</s>a", "\u00e9"]), st.integers(1, 5)),
    st.integers(1, 5),
)
def test_the_end_of_a_line_is_a_word_of_its_rank(counts, lines):
    old = Vocabulary.from_counts(counts)
    grown, moved = with_line_ends(old, lines)
    assert grown == Vocabulary.from_counts({**counts, "</s>": counts.get("</s>", 0) + lines})
    assert [grown.words[new] for new in moved] == old.words
