"""Probabilities of every layer: they sum to one and are what the formulas say.

topk, pairs and samples agree with them.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from unhot.outputs import LAYERS, Head


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def given(setting):
    """The values in the file of a setting file:PATH."""
    return [line.split(",")[1] for line in Path(setting.removeprefix("file:")).read_text().splitlines()]


# ---- the formulas once more, in plain Python: what each word weighs


def noise(layer, counts):
    """q by the definitions."""
    words = len(counts)
    if layer.noise == "uniform":
        weights = [1.0] * words
    elif layer.noise == "log_uniform":
        weights = [math.log(i + 2) - math.log(i + 1) for i in range(words)]
    elif layer.noise.startswith("file:"):
        weights = [float(weight) ** layer.power for weight in given(layer.noise)]
    else:
        weights = [(int(c) + (layer.noise == "learned")) ** layer.power for c in counts]
    return [weight / sum(weights) for weight in weights]


def expected(layer, counts):
    """c: k q, or 1 - (1 - q)^t with the t that makes them sum to k, found by halving."""
    q = noise(layer, counts)
    if not layer.unique:
        return [layer.k * p for p in q]
    if layer.k == len(q):
        return [1.0] * len(q)
    low, high = 0.0, 1e6
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if sum(1 - (1 - p) ** t for p in q) < layer.k else (low, t)
    return [1 - (1 - p) ** low for p in q]


def exponentials(layer, scores, counts):
    return [math.exp(s) for s in scores]


def sigmoids(layer, scores, counts):
    return [sigmoid(s) for s in scores]


def nce(layer, scores, counts):
    return [math.exp(s - (0.0 if isinstance(layer.ln_z, str) else layer.ln_z)) for s in scores]


def negative(layer, scores, counts):
    c = expected(layer, counts)
    if layer.hits == "keep":
        return [math.exp(s) * c for s, c in zip(scores, c, strict=True)]
    return [sigmoid(s + math.log(c)) for s, c in zip(scores, c, strict=True)]


def hierarchical(layer, scores, counts):
    """Left with the sigmoid of the node's score; all words that share the way so far meet the same node."""
    start, node, code = layer.paths(counts)
    node_of, out = {}, []
    for w in range(len(counts)):
        p, way = 1.0, ""
        for n, bit in zip(
            node[start[w] : start[w + 1]].tolist(), code[start[w] : start[w + 1]].tolist(), strict=True
        ):
            assert node_of.setdefault(way, n) == n
            p *= sigmoid(scores[n]) if bit == 0 else sigmoid(-scores[n])
            way += str(bit)
        out.append(p)
        assert not layer.tree.startswith("file:") or way == given(layer.tree)[w]
    assert sorted(node_of.values()) == list(range(len(counts) - 1))  # a node for every way, and no other
    return out


def class_based(layer, scores, counts):
    """On every level, against the rows of the words that made the same choices above."""
    rows = layer.groups(counts).row.tolist()
    if str(layer.classes).startswith("file:"):
        labels = given(layer.classes)
        assert all(
            (a[0] == b[0]) == (x == y)
            for a, x in zip(rows, labels, strict=True)
            for b, y in zip(rows, labels, strict=True)
        )
    out = []
    for mine in rows:
        p = 1.0
        for level, row in enumerate(mine):
            beside = {other[level] for other in rows if other[:level] == mine[:level]}
            p *= math.exp(scores[row]) / sum(math.exp(scores[r]) for r in beside)
        out.append(p)
    assert len({tuple(mine) for mine in rows}) == len(rows)
    return out


def infrequent(layer, scores, counts):
    return [math.exp(s - 1 / (2 * layer.alpha)) for s in scores]


def columns(layer, scores, counts):
    """What is not subtracted in training is multiplied here: c, or q, each up to a factor."""
    c = [1.0] * len(counts)
    if not layer.correct and layer.name == "sampled":
        c = expected(layer, counts)
    elif not layer.correct:
        c = [int(n) + 1.0 if layer.q == "streaming" else max(n, 0.5) / sum(counts) for n in counts]
    if not layer.correct and layer.name == "mixed":
        c = [(layer.batch - 1) * n / sum(c) + layer.k / len(counts) for n in c]
    return [math.exp(s / layer.temperature) * n for s, n in zip(scores, c, strict=True)]


def adaptive(layer, scores, counts):
    """The rows of the head's words by rank, of the tails, of the tails' words.

    A tail's share of the text is 15 or 5 percent at most.
    """
    words = sorted(range(len(counts)), key=lambda w: (-counts[w], w))
    total, ends = int(sum(counts)), [int(c) for c in layer.cutoffs.split(",") if c != "auto"]
    for percent in (80, 95) if layer.cutoffs == "auto" else ():
        rank = next(
            r for r in range(1, len(words) + 1) if 100 * int(sum(counts[words[:r]])) >= percent * total
        )
        ends += [rank] if rank < len(words) and rank not in ends else []
    clusters = [words[a:b] for a, b in zip([0, *ends], [*ends, len(words)], strict=True)]
    row, weight = len(clusters[0]) + len(ends), [math.exp(s) for s in scores]
    z, out = sum(weight[:row]), [0.0] * len(words)
    for place, word in enumerate(clusters[0]):
        out[word] = weight[place] / z
    for tail, cluster in enumerate(clusters[1:]):
        own = weight[row : row + len(cluster)]
        for place, word in enumerate(cluster):
            out[word] = weight[len(clusters[0]) + tail] / z * own[place] / sum(own)
        row += len(cluster)
    assert row == len(scores)
    return out


WEIGHTS = {
    "softmax": exponentials,
    "self_normalized": exponentials,
    "sampled": columns,
    "nce": nce,
    "negative": negative,
    "one_vs_all": sigmoids,
    "sampled_logistic": sigmoids,
    "hierarchical": hierarchical,
    "class_based": class_based,
    "infrequent": infrequent,
    "partition": exponentials,
    "in_batch": columns,
    "mixed": columns,
    "differentiated": exponentials,
    "adaptive": adaptive,
}


def test_every_layer_has_its_formula_here():
    assert set(WEIGHTS) == set(LAYERS)


# ---- the contracts


def test_log_prob_sums_to_one_and_is_what_the_formula_says(every_spec, counts, build, make_head):
    layer = build(every_spec, counts.size)
    head = make_head(layer, counts)
    hidden = np.random.default_rng(1).normal(0, 1, (2, 3, 3))
    log_prob, log_z = head.log_prob(hidden), head.log_z(hidden)
    assert log_prob.shape == (2, 3, counts.size)
    assert log_z.shape == (2, 3)
    np.testing.assert_allclose(np.exp(log_prob).sum(axis=-1), 1.0, rtol=0, atol=1e-12)
    for at in np.ndindex(2, 3):
        weights = WEIGHTS[layer.name](layer, head.scores(hidden[at]).tolist(), counts)
        np.testing.assert_allclose(log_prob[at], np.log(weights) - math.log(sum(weights)), rtol=0, atol=1e-10)
        assert log_z[at] == pytest.approx(math.log(sum(weights)), abs=1e-10)
        # one vector as well as many
        np.testing.assert_allclose(head.log_prob(hidden[at]), log_prob[at], rtol=0, atol=1e-12)


def test_scores_are_products_and_biases(every_spec, build):
    counts = np.array([9, 5, 5, 2])
    layer = build(every_spec, 4)
    rng, rows = np.random.default_rng(2), layer.rows(counts)
    vectors, bias, hidden = rng.normal(0, 1, (rows, 3)), rng.normal(0, 1, rows), rng.normal(0, 1, (5, 3))
    head = Head(layer, counts, vectors, bias, ln_z=0.75)
    length = math.hypot if layer.by_cosine() else lambda *_: 1.0
    plain = [
        [
            sum(h * o for h, o in zip(x, row, strict=True)) / length(*x) / length(*row) + b - 0.75
            for row, b in zip(vectors, bias, strict=True)
        ]
        for x in hidden
    ]
    np.testing.assert_allclose(head.scores(hidden), plain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(head.scores(hidden, [2, 0]), np.array(plain)[:, [2, 0]], rtol=0, atol=1e-12)


def test_vectors_of_float32_give_exact_sums_too(every_spec, build, make_head):
    counts = 100 // (1 + np.arange(60)) + 1
    head = make_head(build(every_spec, 60), counts, dtype=np.float32)
    log_prob = head.log_prob(np.ones((4, 3), np.float32))
    assert log_prob.dtype == np.float64
    np.testing.assert_allclose(np.exp(log_prob).sum(axis=-1), 1.0, rtol=0, atol=1e-12)


def test_topk_is_the_sorted_log_prob(every_spec, counts, build, make_head):
    head = make_head(build(every_spec, counts.size), counts)
    hidden = np.random.default_rng(3).normal(0, 1, (2, 3, 3))
    log_prob = head.log_prob(hidden)
    for k in {1, counts.size // 2 + 1, counts.size}:
        ids, values = head.topk(hidden, k)
        assert ids.shape == values.shape == (2, 3, k)
        assert ids.dtype == np.int32
        np.testing.assert_allclose(values, -np.sort(-log_prob)[..., :k], rtol=0, atol=1e-10)
        np.testing.assert_array_equal(ids, np.argsort(-log_prob.round(10), axis=-1, kind="stable")[..., :k])


def test_topk_takes_the_smaller_id_of_equals(every_spec, build):
    """All scores zero: words are equal but for the depth or class they are in."""
    counts = np.full(8, 10)
    layer = build(every_spec, 8)
    head = Head(layer, counts, np.zeros((layer.rows(counts), 3)))
    log_prob = head.log_prob(np.ones(3))
    for k in (1, 3, 8):
        ids, values = head.topk(np.ones(3), k)
        expected = np.lexsort((np.arange(8), -log_prob.round(9)))[:k]
        np.testing.assert_array_equal(ids, expected)
        np.testing.assert_allclose(values, log_prob[expected], rtol=0, atol=1e-10)


def test_log_prob_of_pairs_is_that_of_all_words(every_spec, counts, build, make_head, monkeypatch):
    head = make_head(build(every_spec, counts.size), counts)
    rng = np.random.default_rng(4)
    hidden, which, targets = (
        rng.normal(0, 1, (9, 3)),
        np.sort(rng.integers(0, 9, 40)),
        rng.integers(0, counts.size, 40),
    )
    for at_once in (1 << 22, 2 * counts.size):  # in one block, and in many
        monkeypatch.setattr("unhot.outputs.head.AT_ONCE", at_once)
        found, log_z = head.pairs_log_prob(hidden, which, targets)
        np.testing.assert_allclose(found, head.log_prob(hidden)[which, targets], rtol=0, atol=1e-10)
        np.testing.assert_allclose(log_z, head.log_z(hidden), rtol=0, atol=1e-10)


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.0])
def test_samples_come_from_the_tempered_joint_distribution(every_spec, build, make_head, temperature):
    counts = 100 // (1 + np.arange(7)) + 1
    head = make_head(build(every_spec, 7), counts)
    hidden = 0.3 * np.random.default_rng(5).normal(0, 1, 3)
    p = np.exp(head.log_prob(hidden))
    drawn = head.sample(np.tile(hidden, (10_000, 1)), 2, temperature=temperature, seed=6)
    assert drawn.shape == (10_000, 2)
    found = np.bincount(drawn.ravel(), minlength=7)
    if temperature == 0:
        assert found[p.argmax()] == drawn.size
        return
    expected = drawn.size * p ** (1 / temperature) / (p ** (1 / temperature)).sum()
    assert expected.min() >= 5  # else chi-square has no meaning
    assert ((found - expected) ** 2 / expected).sum() < 38.26  # six degrees of freedom, level 1e-6
    assert (drawn[:, 0] != drawn[:, 1]).any()  # n draws are not one draw n times
