"""Head and tails by frequency, and torch's own adaptive softmax."""

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.outputs import Head, parse_output

torch = pytest.importorskip("torch")
COUNTS = np.array([3, 70, 10, 9, 6, 2])


def test_clusters_by_hand():
    auto, given_ranks = parse_output("adaptive"), parse_output("adaptive:cutoffs=1,5")
    assert (auto.clusters(COUNTS).order.tolist(), auto.clusters(COUNTS).cutoffs) == (
        [1, 2, 3, 4, 0, 5],
        (2, 4, 6),
    )
    assert given_ranks.clusters(COUNTS).cutoffs == (1, 5, 6)
    assert (auto.rows(COUNTS), given_ranks.rows(COUNTS), auto.rows(np.array([7]))) == (8, 8, 1)
    assert auto.clusters(COUNTS.astype(np.int32)) is auto.clusters(COUNTS)  # whatever their type


@pytest.mark.parametrize(
    ("dim", "div", "widths"),
    [(16, 4, [4, 1]), (100, 4, [25, 6]), (20, 1.5, [13, 8]), (5, 1, [5, 5]), (5, 2.5, None)],
)
def test_widths_are_those_of_torch(dim, div, widths):
    layer = parse_output(f"adaptive:div_value={div}")
    if widths is None:
        with pytest.raises(
            ValueError,
            match="with dim=5 the vectors of tail 1 would have length 0; give a smaller div_value, fewer",
        ):
            layer.widths(COUNTS, dim)
        return
    assert layer.widths(COUNTS, dim) == widths
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(dim, 6, [2, 4], div_value=div)
    assert [tail[0].out_features for tail in module.tail] == widths


@examples(30)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=25).map(np.array), st.booleans(), st.data())
def test_torch_has_the_same_probabilities_and_losses(counts, bias, data):
    """With words in any order of their counts, and any tails."""
    words, dim = counts.size, 9
    ranks = sorted(data.draw(st.lists(st.integers(1, words - 1), min_size=1, max_size=3, unique=True)))
    layer = parse_output(f"adaptive:cutoffs={','.join(map(str, ranks))},div_value=2,bias={str(bias).lower()}")
    torch.manual_seed(data.draw(st.integers(0, 99)))
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(dim, words, ranks, div_value=2, head_bias=bias).double()
    tails = [(own.weight @ projection.weight).detach().numpy() for projection, own in module.tail]
    rows = np.concatenate([module.head.weight.detach().numpy(), *tails])
    out_bias = np.zeros(len(rows))
    out_bias[: module.head.out_features] = module.head.bias.detach().numpy() if bias else 0.0
    hidden, order = torch.randn(words, dim).double(), layer.clusters(counts).order
    head = Head(layer, counts, rows, out_bias)
    np.testing.assert_allclose(
        head.log_prob(hidden.numpy())[:, order], module.log_prob(hidden).detach().numpy(), rtol=0, atol=1e-10
    )
    expected = module(hidden, torch.arange(words)).output.detach().numpy()
    scores = head.scores(hidden.numpy())
    found = [
        layer.reference(scores[rank], int(order[rank]), np.zeros(0, np.int32), counts)
        for rank in range(words)
    ]
    np.testing.assert_allclose(found, -expected, rtol=0, atol=1e-10)
