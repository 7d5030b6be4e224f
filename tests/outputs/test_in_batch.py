"""The softmax over a batch's targets, by hand."""

import math

import numpy as np
import pytest

from unhot.outputs import parse_output

# a word that was never seen counts as half a one
SCORES, COUNTS = np.array([0.5, -1.0, 2.0]), np.array([6, 3, 0])
WORTH = [math.exp(s / 0.5) / q for s, q in zip(SCORES, (6, 3, 0.5), strict=True)]  # any factor of q falls out


# where the counts come from is not the formula's business
@pytest.mark.parametrize("q", ["streaming", "counts"])
@pytest.mark.parametrize(
    ("draws", "hits", "columns"),
    [([1, 0, 0], "keep", [0, 1, 0, 0]), ([1, 0, 0], "drop", [0, 1]), ([0], "drop", [0]), ([], "keep", [0])],
)
def test_by_hand(q, draws, hits, columns):
    layer = parse_output(f"in_batch:temperature=0.5,q={q},hits={hits}")
    loss = layer.reference(SCORES, 0, np.array(draws, np.int32), COUNTS)
    assert loss == pytest.approx(math.log(sum(WORTH[w] for w in columns) / WORTH[0]), abs=1e-12)


def test_a_batch_is_scored_by_its_own_targets():
    """The mean over a batch.

    Each example has all targets of the batch as columns, its own once more than the others have it.
    """
    layer, targets = parse_output("in_batch:temperature=0.5"), np.array([2, 0, 2, 1])
    z = sum(WORTH[w] for w in targets)
    for i, target in enumerate(targets):
        loss = layer.reference(SCORES, target, np.delete(targets, i), COUNTS)
        assert loss == pytest.approx(math.log(z / WORTH[target]), abs=1e-12)
