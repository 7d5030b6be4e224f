"""The loss of a layer in count space.

The sum of its `reference` over all pairs, in expectation over its draws.
"""

import itertools
from collections import Counter

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from unhot.corpus import encode
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.pairing import corpus_pairs
from unhot.errors import ConfigError
from unhot.kernels.loop import Params
from unhot.outputs import parse_output
from unhot.outputs.count_losses import RowCells, softplus_and_sigmoid
from unhot.train.exact_run import add_biases, gradient_of, row_cells
from unhot.vocab.vocabulary import Vocabulary

LAYERS = [
    "softmax",
    "softmax:bias=true",
    "self_normalized:alpha=0.3,bias=true",
    "one_vs_all:bias=true",
    "negative:k=2,hits=keep",
    "negative:k=2,hits=drop,bias=true",
    "negative:k=2,power=0.5,noise=uniform",
    "nce:k=2,bias=true,ln_z=0.7",
    "nce:k=2,ln_z=learned",
    "nce:k=2,ln_z=per_input,bias=true",
    "sampled_logistic:k=2",
]
SENTENCES = [line.split() for line in ("a b c a d", "b a a d", "c c a b", "d a b c b a", "a")]
DIM = 3


def expected(layer, scores, target, counts):
    """The mean of `reference` over all draws that a layer can make."""
    k = getattr(layer, "k", 0)
    q = layer.probability(counts) if k else np.ones(1)
    draws = [np.array(some, np.int64) for some in itertools.product(range(q.size), repeat=k)]
    return sum(float(np.prod(q[some])) * layer.reference(scores, target, some, counts) for some in draws)


def random_params(layer, words, seed=3):
    rng, learns = np.random.default_rng(seed), layer.biases()
    sizes = (words, DIM), (words, DIM), words * learns.out, words * learns.each_input, int(learns.ln_z)
    return [rng.normal(0, 0.8, size) for size in sizes]


def scores_of(arrays, i):
    in_vectors, out_vectors, out_bias, in_bias, ln_z = arrays
    scores = out_vectors @ in_vectors[i]
    return (
        scores
        + (out_bias if out_bias.size else 0)
        + (in_bias[i] if in_bias.size else 0)
        - (ln_z[0] if ln_z.size else 0)
    )


def brute_force(layer, arrays, pairs, counts):
    """Pair by pair, in float64; pairs that are the same have the same loss."""
    times = Counter(pairs)
    return sum(n * expected(layer, scores_of(arrays, i), j, counts) for (i, j), n in times.items())


def exact_loss(cells, layer, params):
    """The mean loss of a pair, of all rows at once."""
    rows = np.arange(len(cells.vocabulary), dtype=np.int32)
    scores = params.in_vectors @ params.out_vectors.T
    add_biases(scores, params, rows)
    sums = cells.row_sums()
    return layer.count_loss(cells.vocabulary.counts).link(scores, row_cells(cells, rows, sums)) / sums.sum()


def single(arrays):
    return Params(*(array.astype(np.float32) for array in arrays))


@pytest.fixture(scope="module")
def text():
    with encode(SENTENCES, min_count=1) as corpus:
        yield corpus, list(corpus_pairs(corpus, window=2, shrink=False))


@pytest.mark.parametrize("spec", LAYERS)
def test_the_loss_is_that_of_all_pairs(spec, text):
    corpus, pairs = text
    layer, counts = parse_output(spec), corpus.vocabulary.counts
    arrays = random_params(layer, counts.size)
    with cooccurrences(corpus, window=2, weights="flat") as cells:
        assert cells.row_sums().sum() == len(pairs)
        found = exact_loss(cells, layer, single(arrays))
    assert found == pytest.approx(brute_force(layer, arrays, pairs, counts) / len(pairs), rel=1e-6)


@pytest.mark.parametrize("spec", LAYERS)
def test_the_gradient_is_that_of_central_differences(spec, text):
    corpus, pairs = text
    layer, counts = parse_output(spec), corpus.vocabulary.counts
    arrays = random_params(layer, counts.size)
    params, rows = single(arrays), np.arange(counts.size, dtype=np.int32)
    with cooccurrences(corpus, window=2, weights="flat") as cells:
        scores = params.in_vectors @ params.out_vectors.T
        add_biases(scores, params, rows)
        layer.count_loss(counts).link(scores, row_cells(cells, rows, cells.row_sums()))
    gradient = gradient_of(scores, params.in_vectors, params)
    step = 1e-5
    for array, found in zip(arrays, gradient, strict=True):
        assert found.shape == array.shape
        for place in np.ndindex(array.shape):
            value, ends = array[place], []
            for moved in (value + step, value - step):
                array[place] = moved
                ends.append(brute_force(layer, arrays, pairs, counts))
            array[place] = value
            assert found[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-4)


def test_weights_of_pairs_are_those_of_a_shrinking_window(text):
    """Over many draws of the reach, the loss of the sampled windows tends to that of the dynamic cells."""
    corpus, _ = text
    layer, counts = parse_output("softmax"), corpus.vocabulary.counts
    arrays = random_params(layer, counts.size)
    with cooccurrences(corpus, window=3, weights="dynamic") as cells:
        found, many = exact_loss(cells, layer, single(arrays)), cells.row_sums().sum()
    pairs = [pair for epoch in range(2000) for pair in corpus_pairs(corpus, window=3, epoch=epoch)]
    each = {pair: brute_force(layer, arrays, [pair], counts) for pair in set(pairs)}
    assert len(pairs) / 2000 == pytest.approx(many, rel=0.01)
    assert np.mean([each[pair] for pair in pairs]) == pytest.approx(found, rel=0.01)


@given(st.lists(st.floats(-90, 90, width=32), min_size=1, max_size=40))
@examples(200)
def test_softplus_and_sigmoid_are_right_to_the_last_bits(values):
    scores = np.array(values, np.float32)
    exact = scores.astype(np.float64)
    softplus = softplus_and_sigmoid(scores)
    assert softplus == pytest.approx(np.logaddexp(0.0, exact), rel=3e-7, abs=1e-37)
    assert scores == pytest.approx(expit(exact), rel=3e-7, abs=1e-37)


@given(st.lists(st.integers(0, 5), min_size=16, max_size=16), st.sampled_from(LAYERS))
@examples(60)
def test_any_counts(values, spec):
    """Cells of any kind, rows without any among them: the loss is the sum over pairs, weighted."""
    layer, counts = parse_output(spec), np.array([5, 4, 3, 2])
    matrix = np.array(values).reshape(4, 4)
    starts = np.concatenate([[0], np.cumsum((matrix > 0).sum(axis=1))])
    cells = Cells.from_arrays(
        Vocabulary(["a", "b", "c", "d"], counts), starts, np.nonzero(matrix)[1], matrix[matrix > 0]
    )
    arrays = random_params(layer, 4)
    scores = np.stack([scores_of(arrays, i) for i in range(4)]).astype(np.float32)
    pairs = [(i, j) for i in range(4) for j in range(4) for _ in range(matrix[i, j])]
    found = layer.count_loss(counts).link(
        scores, row_cells(cells, np.arange(4, dtype=np.int32), cells.row_sums())
    )
    assert found == pytest.approx(brute_force(layer, arrays, pairs, counts), rel=1e-5, abs=1e-5)


def test_scores_far_from_zero_are_finite():
    cells = RowCells(np.array([1]), np.ones(1, np.float32), np.ones(1))
    for spec in ("softmax", "one_vs_all", "negative"):
        scores = np.array([[1e4, -1e4, 0.0]], np.float32)
        loss = parse_output(spec).count_loss(np.array([3, 2, 1])).link(scores, cells)
        assert np.isfinite(loss)
        assert loss >= 1e4
        assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "spec", ["hierarchical", "sampled", "class_based", "negative:noise=learned", "adaptive"]
)
def test_layers_that_have_no_loss_in_counts(spec):
    with pytest.raises(ConfigError, match=r"cells.*(softmax|unigram)"):
        parse_output(spec).check_cells()


@pytest.mark.parametrize(
    "spec", ["negative:unique=true", "nce:k=2,unique=true", "sampled_logistic:unique=true"]
)
def test_distinct_draws_have_no_exact_expectation(spec):
    with pytest.raises(ConfigError, match=r"distinct draws.*set unique=false"):
        parse_output(spec).check_cells()
