"""A trained output layer that computes probabilities of words.

A hidden vector h (an input vector, or the mean of several) gives every output row a score, s = O h + biases.
With layers that compare by cosine (`normalized=true`), s = O h / (|o| |h|) + biases.
The layer turns scores into probabilities that sum to one, whatever loss they were trained with. All results
are float64; products are computed in the vectors' own type.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, at_least, whole
from unhot.outputs.layer import OutputLayer
from unhot.probability import gumbel_max, log_sum_exp
from unhot.types import Doubles, Ids

AT_ONCE = 1 << 20  # the number of scores in memory at once
SHORTEST = 1e-12  # shorter vectors count as this long, so that the cosine of a vector of zeros is 0


class Head:
    """Probabilities of all words for hidden vectors [..., dim].

    >>> from unhot.outputs import parse_output
    >>> head = Head(parse_output("softmax"), counts=[2, 1, 1], out_vectors=[[1.0], [0.0], [0.0]])
    >>> np.exp(head.log_prob([0.0])).round(3).tolist()
    [0.333, 0.333, 0.333]
    >>> head.topk([2.0], 1)[0].tolist()
    [0]
    """

    def __init__(
        self,
        layer: OutputLayer,
        counts: ArrayLike,
        out_vectors: ArrayLike,
        out_bias: ArrayLike | None = None,
        ln_z: float = 0.0,
    ) -> None:
        self.layer, self.counts = layer, np.asarray(counts, np.int64)
        self._vectors: Any = np.asarray(out_vectors)
        self._bias = np.zeros(1) if out_bias is None else np.asarray(out_bias, np.float64)
        self._ln_z = ln_z
        rows = layer.rows(self.counts)
        if self._vectors.ndim != 2 or len(self._vectors) != rows:
            raise DataError(
                f"out_vectors of shape {self._vectors.shape}: "
                f"{layer.spec()} needs [{rows}, dim] for {self.counts.size} words"
            )
        if out_bias is not None and self._bias.shape != (rows,):
            raise DataError(
                f"out_bias of shape {self._bias.shape}: {layer.spec()} needs [{rows}], one for each row"
            )
        self._lengths = lengths(self._vectors) if layer.by_cosine() else np.zeros(0)

    def scores(self, hidden: ArrayLike, rows: Any = slice(None)) -> Doubles:
        """Return the scores of the output rows, with the learned biases: [..., rows]."""
        bias = self._bias[rows] if self._bias.size > 1 else self._bias
        inputs = self._hidden(hidden)
        out: Doubles = inputs @ self._vectors[rows].T
        if self.layer.by_cosine():
            out = out / lengths(inputs)[..., None] / self._lengths[rows]
        return out + (bias - self._ln_z)

    def log_prob(self, hidden: ArrayLike) -> Doubles:
        """Return the log-probabilities of all words: [..., words]."""
        weight = self.layer.log_weight(self.scores(hidden), self.counts)
        return weight - log_sum_exp(weight)[..., None]

    def log_z(self, hidden: ArrayLike, in_bias: ArrayLike = 0.0) -> Doubles:
        """Return log Z, where Z is the sum of the layer's own unnormalised probabilities: [...].

        It is 0 for layers whose probabilities are normalised by construction.

        `in_bias` is the bias of each input, for layers that learn one (nce:ln_z=per_input). It shifts all
        scores of an input alike, so it changes log Z but no probability.
        """
        weight = self.layer.log_weight(self.scores(hidden), self.counts)
        return log_sum_exp(weight) + np.asarray(in_bias, np.float64)

    def pairs_log_prob(self, hidden: ArrayLike, which: Ids, targets: Ids) -> tuple[Doubles, Doubles]:
        """Return log P(targets[i] | hidden[which[i]]) of pairs, and log Z of each hidden vector [n, dim].

        `which` must be in ascending order.
        """
        inputs = self._hidden(hidden)
        out, log_z = np.empty(len(targets)), np.empty(len(inputs))
        block = max(1, AT_ONCE // len(self._vectors))
        for first in range(0, len(inputs), block):
            some = slice(first, first + block)
            pairs = slice(*np.searchsorted(which, [first, first + block]))
            given = self.scores(inputs[some]), which[pairs] - first, targets[pairs]
            out[pairs], log_z[some] = self.layer.pairs_log_prob(*given, self.counts)
        return out, log_z

    def topk(self, hidden: ArrayLike, k: int) -> tuple[Ids, Doubles]:
        """Return the k most likely words and their log-probabilities, the best first: [..., k] each.

        Of equally likely words the smaller id comes first.
        """
        inputs, k = self._hidden(hidden), whole("k", k, 1, self.counts.size)
        flat, shape = inputs.reshape(-1, inputs.shape[-1]), (*inputs.shape[:-1], k)
        found = [self.layer.topk(partial(self.scores, h), k, self.counts) for h in flat]
        ids, log_probs = (np.array([one[i] for one in found]).reshape(shape) for i in range(2))
        return ids.astype(np.int32), log_probs

    def sample(self, hidden: ArrayLike, n: int = 1, *, temperature: float = 1.0, seed: int = 1) -> Ids:
        """Draw n words for each hidden vector: [..., n].

        The temperature applies to the final distribution over words, not to single decisions of a tree.
        """
        n, temperature = whole("n", n, 1), at_least("temperature", temperature, 0)
        log_prob, rng = self.log_prob(hidden), np.random.default_rng(seed)
        return np.stack([gumbel_max(log_prob, rng, temperature) for _ in range(n)], axis=-1)

    def _hidden(self, hidden: ArrayLike) -> Any:
        array = np.asarray(hidden)
        if array.ndim == 0 or array.shape[-1] != self._vectors.shape[1]:
            raise DataError(f"hidden of shape {array.shape}: must end with dim = {self._vectors.shape[1]}")
        return array


def lengths(vectors: Any) -> Doubles:
    """Return the length of each vector [..., dim], at least `SHORTEST`: [...]."""
    squares = np.einsum("...i,...i->...", vectors, vectors, dtype=np.float64)
    return np.asarray(np.maximum(np.sqrt(squares), SHORTEST))
