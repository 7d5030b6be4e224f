"""The softmax over a batch's targets, by hand."""

import math

import numpy as np
import pytest

from unhot.outputs import parse_output

SCORES, COUNTS = np.array([0.5, -1.0, 2.0]), np.array([6, 3, 0])
# any factor of q falls out; streaming counts start at 1, and in a text a word of count 0 counts as half a one
WORTH = {
    kind: [math.exp(s / 0.5) / q for s, q in zip(SCORES, shares, strict=True)]
    for kind, shares in {"streaming": (7, 4, 1), "counts": (6, 3, 0.5)}.items()
}


@pytest.mark.parametrize("q", WORTH)
@pytest.mark.parametrize(
    ("draws", "hits", "columns"),
    [([1, 0, 0], "keep", [0, 1, 0, 0]), ([1, 0, 0], "drop", [0, 1]), ([0], "drop", [0]), ([], "keep", [0])],
)
def test_by_hand(q, draws, hits, columns):
    layer = parse_output(f"in_batch:temperature=0.5,q={q},hits={hits}")
    loss = layer.reference(SCORES, 0, np.array(draws, np.int32), COUNTS)
    assert loss == pytest.approx(math.log(sum(WORTH[q][w] for w in columns) / WORTH[q][0]), abs=1e-12)


def test_a_batch_is_scored_by_its_own_targets():
    """The mean over a batch.

    Each example has all targets of the batch as columns, its own once more than the others have it.
    """
    layer, targets = parse_output("in_batch:temperature=0.5"), np.array([2, 0, 2, 1])
    worth = WORTH["streaming"]
    z = sum(worth[w] for w in targets)
    for i, target in enumerate(targets):
        loss = layer.reference(SCORES, target, np.delete(targets, i), COUNTS)
        assert loss == pytest.approx(math.log(z / worth[target]), abs=1e-12)
