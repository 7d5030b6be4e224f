"""Ratios of co-occurrence probabilities, which show how two words differ in meaning.

    P(k | i) = X[i, k] / sum_k X[i, k]            ratio(k) = P(k | i) / P(k | j)

For i = ice and j = steam, the ratio is large for k = solid, which is related to ice only, and small for gas,
related to steam only. It is near 1 for water, related to both, and for fashion, related to neither. GloVe
fits the logarithms of such ratios by differences of word vectors.

Reference: Pennington, Socher and Manning, GloVe: Global vectors for word representation, 2014, table 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

from unhot.corpus.cells import Cells
from unhot.errors import DataError


class Ratio(NamedTuple):
    """The probabilities of a probe word near each of two words, and their ratio."""

    probe: str
    first: float  # P(probe | first word)
    second: float  # P(probe | second word)
    ratio: float  # first / second; inf if only the second is 0, NaN if both are 0


def ratio_table(
    cells: Cells, first: str, second: str, probes: Sequence[str] = ("solid", "gas", "water", "fashion")
) -> list[Ratio]:
    """Return the probabilities of probe words near two words, and their ratios.

    >>> from unhot.vocab.vocabulary import Vocabulary
    >>> words = Vocabulary(["ice", "steam", "solid", "gas"], [4, 3, 2, 1])
    >>> cells = Cells.from_arrays(words, [0, 2, 4, 4, 4], [2, 3, 2, 3], [4.0, 1.0, 1.0, 4.0])
    >>> solid, gas = ratio_table(cells, "ice", "steam", ["solid", "gas"])
    >>> solid
    Ratio(probe='solid', first=0.8, second=0.2, ratio=4.0)
    >>> gas
    Ratio(probe='gas', first=0.2, second=0.8, ratio=0.25)
    """
    if isinstance(probes, str):
        raise DataError(f"probes={probes!r}: must be a list of words, such as [{probes!r}]")
    columns = [cells.vocabulary.id(probe) for probe in probes]
    both = (_probabilities(cells, word, columns) for word in (first, second))
    return [
        Ratio(probe, p, q, p / q if q > 0 else float("inf" if p > 0 else "nan"))
        for probe, p, q in zip(probes, *both, strict=True)
    ]


def _probabilities(cells: Cells, word: str, columns: Sequence[int]) -> list[float]:
    found, values = cells.row(cells.vocabulary.id(word))
    if not found.size:
        raise DataError(
            f"{word!r} stands near no other word, so no probabilities can be computed: count more text"
        )
    return [float(values[found == column].sum() / values.sum()) for column in columns]
