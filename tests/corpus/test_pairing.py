import json
from pathlib import Path

import pytest

from unhot.corpus.encoding import encode
from unhot.corpus.pairing import corpus_pairs, pairs
from unhot.errors import ConfigError

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "keras_skipgrams.json").read_text())
SENTENCE = "the cat sit on the mat".split()
COMPLETE = [
    ("cat", "the"),
    ("cat", "sit"),
    ("sit", "cat"),
    ("sit", "on"),
    ("on", "sit"),
    ("on", "the"),
    ("the", "on"),
    ("the", "mat"),
]


def test_complete_windows_only():
    assert list(pairs(SENTENCE, window=1, shrink=False, edges=False)) == COMPLETE


def test_edges_are_kept_by_default():
    assert list(pairs(SENTENCE, window=1, shrink=False)) == [("the", "cat"), *COMPLETE, ("mat", "the")]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_keras_skipgrams(case):
    found = pairs(case["sequence"], window=case["window_size"], shrink=False, skip=0)
    assert [list(pair) for pair in found] == case["couples"]


def test_a_shrunken_window_is_between_one_and_the_window():
    reaches = set()
    for position in range(200):
        found = [
            context for centre, context in pairs(list(range(9)), window=4, position=position) if centre == 4
        ]
        reach = len(found) // 2
        assert found == [i for i in range(4 - reach, 5 + reach) if i != 4]
        reaches.add(reach)
    assert reaches == {1, 2, 3, 4}


def test_dropped_words_leave_before_windows_are_formed():
    assert list(pairs([0, 1, 2], window=1, shrink=False, keep=[1.0, 0.0, 1.0])) == [(0, 2), (2, 0)]


def test_pairs_of_a_corpus():
    with encode([["a", "b"], ["b", "a", "b"]], min_count=1) as corpus:
        names = corpus.vocabulary.words
        found = [(names[c], names[o]) for c, o in corpus_pairs(corpus, window=1, shrink=False)]
    assert found == [("a", "b"), ("b", "a"), ("b", "a"), ("a", "b"), ("a", "b"), ("b", "a")]


def test_no_window():
    with pytest.raises(ConfigError, match="window=0: must be >= 1"):
        list(pairs(SENTENCE, window=0))
