"""Words that are made of several input rows: the word itself and its n-grams.

The rows of all words are written down one after the other, so that an input costs no look-up of strings while
it is trained.
"""

from typing import Any, NamedTuple

from unhot.kernels.chunk import hot_row
from unhot.kernels.jit import inner
from unhot.kernels.simd.rows import prefetch
from unhot.types import Floats, Ids, Starts


class Bags(NamedTuple):
    """Word w is made of rows[starts[w] : starts[w + 1]]."""

    starts: Starts  # [words + 1]
    rows: Ids
    # [words] how often each of a word's different rows stands there, squared and summed: without repeats,
    # their number
    squares: Floats


@inner
def put_bag(bags: Any, word: Any, hot: Any, inputs: Any, count: Any) -> Any:
    """Write the rows of a word, where this thread finds them, behind the first `count` inputs.

    Returns how many there are then.
    """
    for i in range(bags.starts[word], bags.starts[word + 1]):
        inputs.row[count] = hot_row(bags.rows[i], hot.in_rows, hot.in_shift)
        count += 1
    return count


@inner
def fetch_bag(shape: Any, params: Any, bags: Any, word: Any, hot: Any) -> None:
    """Ask for the rows of a word that will be trained soon."""
    for i in range(bags.starts[word], bags.starts[word + 1]):
        prefetch(shape, params.in_vectors, hot_row(bags.rows[i], hot.in_rows, hot.in_shift))
