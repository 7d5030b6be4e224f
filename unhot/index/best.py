"""The best rows of lines of scores, and the ranks of given rows: shared by all that ranks rows by scores.

A line of scores holds one score for each row. A row is a candidate of a line if its score is a number above
-inf and the line does not exclude it. So a caller can also rule out rows by scores of NaN or -inf.

Each kernel reads a line once. `best_rows` compares a stretch of scores with the k-th best so far, in vector
instructions, and looks at single scores only if one of them is better. The best rows so far are a heap, as in
topk.py.

**The scores are changed**: those of excluded rows become -inf.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import DataError, whole
from unhot.index.exact import nothing_found, usable_cores
from unhot.index.topk import merge_and_sort, push
from unhot.kernels.jit import kernel
from unhot.threads import in_order, parts_of
from unhot.types import Counts, Doubles, Floats, Starts

STRETCH = 64  # scores that are compared together
SHARED = 1 << 22  # with more scores than this (about 2 ms), a second thread is worth its start


class ExcludedRows(NamedTuple):
    """Rows that each of n lines must not find: line i excludes ids[starts[i]], .., ids[starts[i + 1] - 1]."""

    ids: Counts  # a number that is no row, such as -1, excludes nothing
    starts: Starts  # [n + 1] positions in ids, rising

    def take(self, lines: Iterable[Any]) -> "ExcludedRows":
        """Return what some lines exclude."""
        pieces = [self.ids[self.starts[line] : self.starts[line + 1]] for line in lines]
        ends = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
        return ExcludedRows(np.concatenate([self.ids[:0], *pieces]), ends)


@kernel
def exclude_rows(scores: Any, ids: Any, starts: Any) -> None:
    """Set the scores of the rows that each line excludes to -inf."""
    for line in range(len(scores)):
        for at in range(starts[line], starts[line + 1]):
            if 0 <= ids[at] and ids[at] < scores.shape[1]:
                scores[line, ids[at]] = -np.inf


@kernel
def best_rows(scores: Any, allowed: Any, first: Any, stop: Any, out_scores: Any, out_ids: Any) -> None:
    """Keep the k best candidates of the lines first .. stop - 1 of scores [n, rows] as heaps [n, k].

    The heaps begin with -1 and -inf. `allowed` has a line of flags for each line of scores, or one for all.
    """
    rows, k = scores.shape[1], out_ids.shape[1]
    for line in range(first, stop):
        for begin in range(0, rows, STRETCH):
            end = min(begin + STRETCH, rows)
            worst, above = out_scores[line, 0], False
            for row in range(begin, end):
                above |= scores[line, row] > worst
            if above:
                for row in range(begin, end):
                    # rows come in rising order, so of equal scores the first stays; NaN compares as false
                    if scores[line, row] > out_scores[line, 0] and allowed[line % len(allowed), row]:
                        push(out_scores, out_ids, line, k, scores[line, row], row)


@kernel
def rank_targets(scores: Any, targets: Any, first: Any, stop: Any, out: Any) -> None:
    """Write the ranks of the targets of the lines first .. stop - 1, as `ranks` returns them."""
    for line in range(first, stop):
        own = scores[line, targets[line]] if targets[line] >= 0 else np.float32(-np.inf)
        level = own if own > -np.inf else np.float32(-np.inf)  # also if it is NaN
        above, equal = 0, 0
        for row in range(scores.shape[1]):
            above += scores[line, row] > level
            equal += scores[line, row] == level
        out[line] = 1 + above + ((equal - 1) / 2 if level > -np.inf else 0)  # the target is among the equal


def best(
    scores: Floats,
    k: int,
    exclude: ExcludedRows | None = None,
    allowed: NDArray[np.bool_] | None = None,
    threads: int | None = None,
) -> tuple[Counts, Floats]:
    """Return the k best candidates of each line of scores [n, rows], best first, and their scores.

    Both results are [n, k], filled with -1 and -inf if there are fewer. Equal scores are ordered by row.
    `allowed` holds flags [rows] for all lines, or [n, rows]. The scores of excluded rows become -inf, unless
    the scores have to be copied because they are not a float32 array in C order.
    """
    values = _checked_scores(scores)
    barred = checked_exclude(exclude, len(values))
    flags = checked_allowed(allowed, *values.shape)
    found_ids, found_scores = nothing_found(len(values), whole("k", k, 1))
    exclude_rows(values, *barred)

    def work(part: range) -> None:
        here = slice(part.start, part.stop)
        best_rows(values, flags, part.start, part.stop, found_scores, found_ids)
        merge_and_sort(found_scores[None, here], found_ids[None, here])

    _in_parts(values, work, threads)
    return found_ids, found_scores


def ranks(
    scores: Floats, targets: ArrayLike, exclude: ExcludedRows | None = None, threads: int | None = None
) -> Doubles:
    """Return the rank of a target row among the candidates of each line of scores [n, rows]; 1 is the best.

        rank = 1 + (candidates above the target) + (candidates with the same score) / 2

    This is the mean rank over all orders of equal scores. A target of -1 is an unknown row; it is behind all
    candidates, and so is a target that is excluded, or whose score is NaN or -inf. The scores of excluded
    rows become -inf, as in `best`.
    """
    values, wanted = _checked_scores(scores), _numbers("targets", targets)
    lines, rows = values.shape
    barred = checked_exclude(exclude, lines)
    if wanted.shape != (lines,) or (wanted >= rows).any():
        raise DataError(
            f"targets has shape {wanted.shape} for scores of shape {values.shape}: give one row below {rows} "
            "for each line of scores, or -1"
        )
    exclude_rows(values, *barred)
    found = np.empty(lines)
    _in_parts(values, lambda part: rank_targets(values, wanted, part.start, part.stop, found), threads)
    return found


def checked_exclude(exclude: ExcludedRows | None, lines: int) -> ExcludedRows:
    """Return what each line excludes, as int64; raise a `DataError` if it does not fit."""
    given = exclude or ExcludedRows(np.empty(0, np.int64), np.zeros(lines + 1, np.int64))
    ids, starts = _numbers("exclude.ids", given.ids), _numbers("exclude.starts", given.starts)
    known = ids.ndim == 1 and starts.shape == (lines + 1,)
    if not known or starts[0] < 0 or starts[-1] > len(ids) or (starts[1:] < starts[:-1]).any():
        raise DataError(
            f"exclude has ids of shape {ids.shape} and starts of shape {starts.shape}, {starts!s:.80}: for "
            f"{lines} lines, give a list of rows and {lines + 1} rising positions in it, from 0 to {ids.size}"
        )
    return ExcludedRows(ids, starts)


def checked_allowed(allowed: NDArray[np.bool_] | None, lines: int, rows: int) -> NDArray[np.bool_]:
    """Return flags of allowed rows, [lines, rows] or [1, rows]; raise a `DataError` if they do not fit."""
    flags = np.ones(rows, np.bool_) if allowed is None else np.asarray(allowed)
    if flags.dtype != np.bool_ or flags.shape not in ((rows,), (1, rows), (lines, rows)):
        raise DataError(
            f"allowed has shape {flags.shape} and type {flags.dtype}: give flags (bool) of shape ({rows},) "
            f"or ({lines}, {rows})"
        )
    return np.require(np.atleast_2d(flags), None, ["C", "W"])


@np.errstate(over="ignore")
def _checked_scores(scores: Floats) -> Floats:
    values: Floats = np.require(scores, np.float32, ["C", "W"])
    if values.ndim != 2:
        raise DataError(f"scores has shape {values.shape}: give a matrix with one score for each row")
    return values


def _numbers(name: str, given: ArrayLike) -> Counts:
    """Return whole numbers as int64; raise a `DataError` if they are something else."""
    numbers = np.asarray(given)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise DataError(f"{name} has the type {numbers.dtype}: give whole numbers")
    return np.require(numbers, np.int64, ["C", "W"])


def _in_parts(scores: Floats, work: Callable[[range], None], threads: int | None) -> None:
    """Call `work` for all lines: at once if there is little to do, else for parts of them on threads."""
    threads = usable_cores() if threads is None else whole("threads", threads, 1)
    if threads == 1 or scores.size <= SHARED:
        work(range(len(scores)))
    else:
        list(in_order(parts_of(len(scores), -(-len(scores) // (4 * threads))), work, threads))
