"""Overlaps of neighbours, by hand and against plain sets."""

import json

import numpy as np
import pytest

from unhot import Vectors
from unhot.errors import ConfigError, DataError
from unhot.evaluate import stability
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import Subwords


def random_vectors(seed, n=40, dim=6, first=0):
    rng = np.random.default_rng(seed)
    return Vectors([f"w{i + first}" for i in range(n)], rng.normal(size=(n, dim)).astype(np.float32))


def neighbours(vectors, word, k, among):
    unit = {w: vectors[w] / np.linalg.norm(vectors[w]) for w in among}
    return set(sorted((w for w in among if w != word), key=lambda w: -float(unit[w] @ unit[word]))[:k])


def test_turned_axes_change_nothing():
    vectors = random_vectors(1)
    turn, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))
    turned = Vectors(vectors.index_to_key, 3 * (vectors.vectors @ turn).astype(np.float32))
    result = stability(vectors, [turned], k=5, words=30)
    assert (result.share, result.jaccard, result.share_interval, result.words) == (1.0, 1.0, (1.0, 1.0), 30)


def test_overlaps_of_three_models_with_other_words():
    models = [random_vectors(1), random_vectors(2, first=5), random_vectors(3, n=60)]
    common = [f"w{i}" for i in range(5, 40)]
    result = stability(models[0], models[1:], k=4, words=20)
    assert (result.models, result.common, result.words) == (3, 35, 20)
    sets = [[neighbours(model, word, 4, common) for word in common[:20]] for model in models]
    for pair in result.pairs:
        both = list(zip(sets[pair.first], sets[pair.second], strict=True))
        assert pair.share == pytest.approx(np.mean([len(a & b) / 4 for a, b in both]))
        assert pair.jaccard == pytest.approx(np.mean([len(a & b) / len(a | b) for a, b in both]))
    assert [(pair.first, pair.second) for pair in result.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert result.share == pytest.approx(np.mean([pair.share for pair in result.pairs]))
    assert result.share_interval[0] < result.share < result.share_interval[1]
    assert result.jaccard_interval[0] < result.jaccard < result.jaccard_interval[1]
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["pairs"][0]["first"] == 0


def test_a_list_of_words_and_fewer_words():
    models = [random_vectors(1), random_vectors(2)]
    result = stability(
        models[0], models[1:], k=3, words=["w3", "w5", "w3", "nothing", "w39"], restrict_vocab=30
    )
    assert (result.words, result.unknown, result.common) == (2, 2, 30)
    among = [f"w{i}" for i in range(30)]
    both = [[neighbours(model, word, 3, among) for model in models] for word in ("w3", "w5")]
    assert result.share == pytest.approx(np.mean([len(a & b) / 3 for a, b in both]))


def test_fewer_neighbours_than_asked_for():
    models = [random_vectors(seed, n=4) for seed in (1, 2)]
    result = stability(models[0], models[1:], k=10)
    assert (result.share, result.jaccard, result.words) == (1.0, 1.0, 4)


def test_words_without_direction_are_not_asked():
    models = [random_vectors(1), random_vectors(2)]
    models[1] = Vectors(
        models[1].index_to_key, np.where(np.arange(40)[:, None] < 3, 0, models[1].vectors).astype(np.float32)
    )
    assert stability(models[0], models[1:]).words == 37
    assert stability(models[0], models[1:], words=["w1", "w7"]).unknown == 1


def test_what_cannot_be_compared():
    model = random_vectors(1)
    with pytest.raises(ConfigError, match="at least one other model"):
        stability(model, [])
    with pytest.raises(DataError, match="0 words in common"):
        stability(model, [random_vectors(2, first=100)])
    with pytest.raises(DataError, match="nothing to compare"):
        stability(model, [random_vectors(2)], words=["nothing"])
    with pytest.raises(ConfigError, match="words='king': must be a number or a list"):
        stability(model, [random_vectors(2)], words="king")
    with pytest.raises(ConfigError, match="k=0"):
        stability(model, [random_vectors(2)], k=0)


def test_a_listed_word_that_only_ngrams_compose_is_unknown():
    cut, own = Subwords(minn=3, maxn=3, buckets=5), np.arange(3, dtype=np.int32)
    rows = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    vectors = SubwordVectors(["cat", "cow", "dog"], None, SubwordRows(cut, rows, own, first_bucket=3))
    assert "cats" in vectors
    found = stability(vectors, [vectors], words=["cat", "cats"], k=1)
    assert (found.words, found.unknown, found.share) == (1, 1, 1.0)
