"""Words that consist of several input rows: the row of the word itself and the rows of its n-grams.

One list holds the rows of all words, so training never looks up a string.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.chunk import hot_row
from unhot.kernels.jit import inner
from unhot.kernels.simd.rows import prefetch
from unhot.types import Floats, Ids, Starts

NO_MIXING: Floats = np.zeros(0, np.float32)


class Bags(NamedTuple):
    """The rows of each word: word w consists of rows[starts[w] : starts[w + 1]]."""

    starts: Starts  # [words + 1]
    rows: Ids
    # [words] the sum of m**2 over the different rows of a word, where a row occurs m times; without repeats,
    # this is the number of rows
    squares: Floats
    # [entries of `rows`] learned: the logarithms of the weights of the rows of a word, before they are made
    # to sum to one (`MixedBag`); empty: the weights are not learned
    mixing: Floats = NO_MIXING


@inner
def put_bag(bags: Any, word: Any, hot: Any, inputs: Any, count: Any) -> Any:
    """Append the rows of a word, at the places where this thread finds them, to the first `count` inputs.

    Returns the new number of inputs.
    """
    for i in range(bags.starts[word], bags.starts[word + 1]):
        inputs.row[count] = hot_row(bags.rows[i], hot.in_rows, hot.in_shift)
        count += 1
    return count


@inner
def fetch_bag(shape: Any, params: Any, bags: Any, word: Any, hot: Any) -> None:
    """Prefetch the rows of a word that will be trained soon."""
    for i in range(bags.starts[word], bags.starts[word + 1]):
        prefetch(shape, params.in_vectors, hot_row(bags.rows[i], hot.in_rows, hot.in_shift))
