"""Small random models of lines, with all that a model can have."""

import numpy as np
import pytest

from unhot.lines.choosing import PlainScores
from unhot.lines.line_sums import LineModel
from unhot.lines.predictor import LinePredictor
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords

WORDS = ["</s>", "good", "bad", "film", "the", "a", "\u00e9t\u00e9", "__label__known", "\U0001f642", "x" * 70]
LABELS = 5


class Softmax:
    """The softmax over some labels by numpy alone: s = h . o + bias."""

    floor, later_first = 0.0, False

    def __init__(self, dim, quick=True):
        rng = np.random.default_rng(1)
        self.out, self.bias = rng.normal(size=(LABELS, dim)).astype(np.float32), rng.normal(size=LABELS)
        self.out[3], self.bias[3] = self.out[1], self.bias[1]  # two labels are always equal
        self.plain = PlainScores(self.out, self.bias.astype(np.float32), True) if quick else None

    @property
    def labels(self):
        return LABELS

    def probabilities(self, hidden):
        weights = np.exp(hidden.astype(np.float64) @ self.out.T + self.bias)
        return weights / weights.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def make_predictor():
    """A function that makes a model of random rows, of which only some buckets have one if `keyed`."""

    def make(
        maxn=0, longest=1, distinct=False, weights=False, power=1.0, keyed=False, words=tuple(WORDS), dim=6,
        buckets=50, quick=True, **how,
    ):  # fmt: skip
        rng = np.random.default_rng(0)
        subwords = Subwords(minn=2 if maxn else 0, maxn=maxn, buckets=buckets)
        matrix = rng.normal(size=(len(words) + buckets, dim)).astype(np.float32)
        if keyed:
            used = np.flatnonzero(rng.random(buckets) < 0.7)
            keys = rng.permutation(np.concatenate([-1 - np.arange(len(words)), used]))
            rows = SubwordRows.of_keys(subwords, matrix[: keys.size], keys, len(words))
            rows = SubwordRows(subwords, rows.matrix, rows.word_rows, rows.bucket_rows, skips=True)
        else:
            rows = SubwordRows(
                subwords, matrix, np.arange(len(words), dtype=np.int32), first_bucket=len(words)
            )
        given = rng.uniform(0.2, 3, len(rows.matrix)).astype(np.float32)
        model = LineModel(
            list(words), rows, given if weights else given[:0], longest, distinct, power, "__label__"
        )
        return LinePredictor(model, Softmax(dim, quick), **how)

    return make
