import math
from collections import Counter

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot import CBOW, SkipGram
from unhot.bench import texts
from unhot.bench.texts import cut_long, split_text, unigram_loss
from unhot.corpus.encoding import encode
from unhot.corpus.shards import Shard
from unhot.errors import DataError
from unhot.evaluate import held_out

LINES = [[f"w{(i * j) % 17}" for j in range(1, 3 + i % 40)] for i in range(200)]


def split(lines, share=0.1, most=10**9, seed=1, **limits):
    with encode(lines, **{"min_count": 1, **limits}) as corpus:
        return split_text(corpus, share, most, seed)


def train_lines(train):
    words = train.vocabulary.words
    return [
        [words[i] for i in shard.ids[a:b]]
        for shard in train.shards
        for a, b in zip(shard.starts, shard.starts[1:], strict=False)
    ]


def test_every_line_is_in_one_part():
    parts = split(LINES)
    found = [tuple(line) for line in (*train_lines(parts.train), *parts.held_out, *parts.tuning)]
    assert Counter(found) == Counter(map(tuple, LINES))
    assert 5 < len(parts.held_out) < 40
    assert parts.tuning
    assert all(line in parts.held_out for line in parts.curve)


def test_words_are_counted_in_the_training_part():
    vocabulary, lines = (parts := split(LINES)).train.vocabulary, train_lines(parts.train)
    counted = Counter(word for line in lines for word in line)
    assert dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)) == counted
    assert vocabulary.is_ordered()
    assert (parts.train.ids, parts.train.sentences) == (counted.total(), len(lines))


def test_words_that_are_held_out_only_are_dropped():
    lines = [["a", "b", "c"]] * 30 + [[f"once{i}", "a", "b"] for i in range(30)]
    parts = split(lines, share=0.3)
    known = set(parts.train.vocabulary.words)
    assert {word for line in (*parts.held_out, *parts.tuning) for word in line} <= known
    assert len(known) < 33


def test_lines_are_trained_in_another_order_from_all_over():
    lines = [[f"w{i}", "x", "x"] for i in range(400)]
    order = [int(line[0][1:]) for line in train_lines(split(lines).train)]
    assert order != sorted(order)
    assert abs(np.mean(order[:100]) - 200) < 50


def test_the_seed_decides():
    first, again, other = (split(LINES, seed=seed) for seed in (1, 1, 2))
    assert (first.held_out, first.tuning) == (again.held_out, again.tuning)
    assert train_lines(first.train) == train_lines(again.train)
    assert first.held_out != other.held_out


def test_a_text_of_one_line_can_be_split(monkeypatch):
    monkeypatch.setattr(texts, "LONGEST", 10)
    line = [f"w{i % 7}" for i in range(995)]
    parts = split([line], share=0.2)
    pieces = [*train_lines(parts.train), *parts.held_out, *parts.tuning]
    assert sorted(map(len, pieces)) == [5] + [10] * 99
    assert parts.held_out


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 12))
@examples(50)
def test_cut_long(lengths, longest):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    found = cut_long(starts, longest).tolist()
    plain = [a + k for a, b in zip(starts, starts[1:], strict=False) for k in range(0, b - a, longest)]
    assert found == [*plain, starts[-1]]


def test_most_words():
    parts = split(LINES * 20, share=0.5, most=2000)
    assert 1000 < sum(map(len, parts.held_out)) < 3000


def test_some_lines_are_looked_at_often(monkeypatch):
    monkeypatch.setattr(texts, "CURVE", 300)
    parts = split(LINES * 5, share=0.3)
    assert 150 < sum(map(len, parts.curve)) < 600 < sum(map(len, parts.held_out))


def many_shards(lines, per_shard):
    """A corpus in as many shards as a long text has."""
    corpus = encode(lines, min_count=1)
    ids, starts = corpus.shards[0]
    places = [*range(0, starts.size - 1, per_shard), starts.size - 1]
    corpus.shards = [
        Shard(ids[starts[a] : starts[b]], starts[a : b + 1] - starts[a])
        for a, b in zip(places, places[1:], strict=False)
    ]
    return corpus


def test_shards_are_mixed(monkeypatch):
    monkeypatch.setattr(texts, "TOGETHER", 7)
    lines = [[f"w{i}", "x", "x"] for i in range(400)]
    with many_shards(lines, 100) as corpus:
        assert len(corpus.shards) == 4
        parts = split_text(corpus, 0.1, 10**9, 1)
    order = [int(line[0][1:]) for line in train_lines(parts.train)]
    assert abs(np.mean(order[:100]) - 200) < 50
    found = Counter(tuple(line) for line in train_lines(parts.train))
    assert found <= Counter(map(tuple, lines))
    assert found.total() + len(parts.held_out) + len(parts.tuning) == 400


def test_a_long_text_is_not_all_trained_on(monkeypatch):
    monkeypatch.setattr(texts, "TRAINING", 600)
    with many_shards([[f"w{i % 100}", "x", f"y{i // 400}"] for i in range(1200)], 400) as corpus:
        parts = split_text(corpus, 0.1, 10**9, 1)
    assert 450 < parts.train.ids < 750
    for part in (train_lines(parts.train), parts.held_out):
        assert {line[-1] for line in part} == {"y0", "y1", "y2"}
    assert sum(map(len, parts.held_out)) > 200


def test_there_is_always_a_line_to_tune_by(monkeypatch):
    monkeypatch.setattr(texts, "TUNING", 1e-9)
    lines = [*LINES, *[["w1"]] * 50]
    parts = split(lines)
    assert len(parts.tuning) == 1
    assert len(parts.tuning[0]) > 1
    found = [tuple(line) for line in (*train_lines(parts.train), *parts.held_out, *parts.tuning)]
    assert Counter(found) == Counter(map(tuple, lines))
    with pytest.raises(DataError, match="leaves nothing to train on"):
        split([["a", "b"]] * 3 + [["a"]] * 50, share=0.5, seed=next(s for s in range(99) if held_all(s)))


def held_all(seed):
    """Whether the first three lines are all held out: then there is none to tune by."""
    return (np.random.default_rng(seed).random(53)[:3] < 0.5).all()


def test_too_little_text():
    with pytest.raises(DataError, match=r"in 2 lines; holding out 1.00% leaves nothing"):
        split([["a", "b"], ["c", "d"]], share=0.01)


@pytest.mark.parametrize(("kind", "each"), [(SkipGram, True), (CBOW, False)])
def test_the_loss_of_counts_alone(kind, each):
    parts = split([*LINES, ["w1"], ["w2", "w3"]])
    # a softmax that has learned nothing but the biases that it began with
    model = kind(dim=4, output="softmax:bias=true", window=3, epochs=1, min_count=1, lr=1e-30, threads=1).fit(
        parts.train
    )
    expected = held_out(model, parts.held_out).cross_entropy
    found = unigram_loss(parts.held_out, parts.train.vocabulary, 3, each)
    assert found == pytest.approx(expected, rel=1e-6)
    assert 0 < found < math.log(17) + 0.5
