"""The best rows of lines of scores, and the ranks of given rows: shared by all that ranks rows by scores.

A line of scores holds one score for each row. A row is a candidate of a line if its score is a number above
-inf and the line does not exclude it. So a caller can also rule out rows by scores of NaN or -inf.

Each kernel reads a line once. It compares a stretch of scores with the k-th best so far, in vector
instructions, and looks at single scores only if one of them is better. The best rows so far are a heap, as in
topk.py.

**The scores are changed**: those of excluded rows become -inf.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import DataError, whole
from unhot.index.exact import nothing_found, usable_cores
from unhot.index.topk import push
from unhot.kernels.jit import inner, kernel
from unhot.threads import in_order, parts_of
from unhot.types import Counts, Doubles, Floats, Starts

STRETCH = 64  # scores that are compared together
SHARED = 1 << 22  # with more scores than this (about 2 ms), a second thread is worth its start


class ExcludedRows(NamedTuple):
    """Rows that each of n lines must not find: line i excludes ids[starts[i]], .., ids[starts[i + 1] - 1]."""

    ids: Counts  # a number that is no row, such as -1, excludes nothing
    starts: Starts  # [n + 1] positions in ids, rising

    def take(self, lines: Counts) -> "ExcludedRows":
        """Return what some lines exclude."""
        pieces = [self.ids[self.starts[line] : self.starts[line + 1]] for line in lines]
        ends = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
        return ExcludedRows(np.concatenate([self.ids[:0], *pieces]), ends)


@inner
def exclude_rows(scores: Any, line: Any, ids: Any, starts: Any) -> None:
    """Set the scores of the rows that a line excludes to -inf."""
    for at in range(starts[line], starts[line + 1]):
        if 0 <= ids[at] and ids[at] < scores.shape[1]:
            scores[line, ids[at]] = -np.inf


@kernel
def best_rows(
    scores: Any, excluded_ids: Any, excluded_starts: Any, allowed: Any, out_ids: Any, out_scores: Any
) -> None:
    """Write the k best candidates of each line of scores [n, rows], best first, ties by row.

    The results are [n, k], with -1 and -inf where there are fewer. `allowed` has a line of flags for each
    line of scores, or one for all, or none: then all rows are allowed.
    """
    rows, k = scores.shape[1], out_ids.shape[1]
    if k == 0:
        return
    for line in range(len(scores)):
        exclude_rows(scores, line, excluded_ids, excluded_starts)
        flags = line if len(allowed) > 1 else 0
        for i in range(k):
            out_ids[line, i], out_scores[line, i] = -1, -np.inf
        for begin in range(0, rows, STRETCH):
            end = min(begin + STRETCH, rows)
            worst, above = out_scores[line, 0], False
            for row in range(begin, end):
                above |= scores[line, row] > worst
            if not above:
                continue
            for row in range(begin, end):
                # rows come in rising order, so of equal scores the first stays; NaN compares as false
                if scores[line, row] > out_scores[line, 0] and (len(allowed) == 0 or allowed[flags, row]):
                    push(out_scores, out_ids, line, k, scores[line, row], row)
        for last in range(k - 1, 0, -1):
            worst, worst_row = out_scores[line, 0], out_ids[line, 0]
            push(out_scores, out_ids, line, last, out_scores[line, last], out_ids[line, last])
            out_scores[line, last], out_ids[line, last] = worst, worst_row


@kernel
def count_above(
    scores: Any,
    targets: Any,
    excluded_ids: Any,
    excluded_starts: Any,
    above: Any,
    equal: Any,
    candidates: Any,
) -> None:
    """Count the candidates of each line besides its target: all, those above the target, those equal to it.

    A target is never excluded. All candidates are above a target that is no row (-1), or whose score is NaN
    or -inf.
    """
    rows = scores.shape[1]
    for line in range(len(scores)):
        target, known = targets[line], 0 <= targets[line] and targets[line] < rows
        own = scores[line, target] if known else np.float32(-np.inf)
        level = own if own > -np.inf else np.float32(-np.inf)  # also if it is NaN
        exclude_rows(scores, line, excluded_ids, excluded_starts)
        if known:
            scores[line, target] = -np.inf
        more, same = 0, 0
        count = 0
        for row in range(rows):
            score = scores[line, row]
            more += score > level
            same += score == level
            count += score > -np.inf
        above[line], candidates[line] = more, count
        equal[line] = same if level > -np.inf else 0
        if known:
            scores[line, target] = own


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
    values, k = _checked_scores(scores), whole("k", k, 1)
    lines, rows = values.shape
    ids, starts = checked_exclude(exclude, lines)
    mask = checked_allowed(allowed, lines, rows)
    flags = (
        np.empty((0, rows), np.bool_) if mask is None else np.require(np.atleast_2d(mask), None, ["C", "W"])
    )
    found_ids, found_scores = nothing_found(lines, k)

    def work(part: range) -> None:
        here = slice(part.start, part.stop)
        some = flags[here] if len(flags) > 1 else flags
        best_rows(
            values[here], ids, starts[part.start : part.stop + 1], some, found_ids[here], found_scores[here]
        )

    _in_parts(lines, rows, work, threads)
    return found_ids, found_scores


def ranks(
    scores: Floats, targets: ArrayLike, exclude: ExcludedRows | None = None, threads: int | None = None
) -> Doubles:
    """Return the rank of a target row among the candidates of each line of scores [n, rows]; 1 is the best.

        rank = 1 + (candidates above the target) + (candidates with the same score) / 2

    This is the mean rank over all orders of equal scores. A target is never excluded. A target of -1 is an
    unknown row, behind all candidates. The scores of excluded rows become -inf, as in `best`.
    """
    values = _checked_scores(scores)
    lines, rows = values.shape
    ids, starts = checked_exclude(exclude, lines)
    wanted = _numbers("targets", targets)
    if wanted.shape != (lines,) or (wanted >= rows).any():
        raise DataError(
            f"targets has shape {wanted.shape} for scores of shape {values.shape}: give one row below {rows} "
            "for each line of scores, or -1"
        )
    counts = np.zeros((3, lines), np.int64)

    def work(part: range) -> None:
        here = slice(part.start, part.stop)
        own = starts[part.start : part.stop + 1]
        count_above(values[here], wanted[here], ids, own, *(count[here] for count in counts))

    _in_parts(lines, rows, work, threads)
    return np.asarray(1.0 + counts[0] + counts[1] / 2, np.float64)


def checked_exclude(exclude: ExcludedRows | None, lines: int) -> ExcludedRows:
    """Return what each line excludes, as int64; raise a `DataError` if it does not fit."""
    if exclude is None:
        return ExcludedRows(np.empty(0, np.int64), np.zeros(lines + 1, np.int64))
    ids, starts = _numbers("exclude.ids", exclude.ids), _numbers("exclude.starts", exclude.starts)
    if ids.ndim != 1 or starts.shape != (lines + 1,):
        raise DataError(
            f"exclude has ids of shape {ids.shape} and starts of shape {starts.shape}: for {lines} lines, "
            f"give a list of rows and {lines + 1} starts"
        )
    if starts[0] < 0 or starts[-1] > len(ids) or (starts[1:] < starts[:-1]).any():
        raise DataError(
            f"exclude.starts go from {starts[0]} to {starts[-1]}: give rising positions in exclude.ids, from "
            f"0 to {len(ids)}"
        )
    return ExcludedRows(ids, starts)


def checked_allowed(allowed: NDArray[np.bool_] | None, lines: int, rows: int) -> NDArray[np.bool_] | None:
    """Return the flags of allowed rows; raise a `DataError` if they do not fit."""
    if allowed is None:
        return None
    flags = np.asarray(allowed)
    if flags.dtype != np.bool_ or flags.shape not in ((rows,), (lines, rows)):
        raise DataError(
            f"allowed has shape {flags.shape} and type {flags.dtype}: give flags (bool) of shape ({rows},) "
            f"or ({lines}, {rows})"
        )
    return flags


def _checked_scores(scores: Floats) -> Floats:
    with np.errstate(over="ignore"):
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


def _in_parts(lines: int, rows: int, work: Callable[[range], None], threads: int | None) -> None:
    """Call `work` for all lines: at once if there is little to do, else for parts of them on threads."""
    threads = usable_cores() if threads is None else whole("threads", threads, 1)
    if threads == 1 or lines * rows <= SHARED:
        work(range(lines))
    else:
        list(in_order(parts_of(lines, -(-lines // (4 * threads))), work, threads))
