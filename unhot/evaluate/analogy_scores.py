"""Score the candidates of analogies, and find the best one of each question.

A question is "a is to b as c is to ?". A score combines three numbers: the candidate's cosines with the three
words.

    Sum        cosines[b] - cosines[a] + cosines[c]             3CosAdd, Mikolov et al. 2013
    Quotient   shifted[b] shifted[c] / (shifted[a] + EPSILON)   3CosMul, Levy and Goldberg 2014;
                                                                shifted = (1 + cosine) / 2

Candidates come in blocks, as columns of a table with one row for each word. GROUP columns at a time are
compared with the best score so far, which gives the bits of an integer. Only candidates whose bit is set are
examined one by one. NaN beats nothing, so candidates without a direction, and the padding of the last group,
are columns of NaN.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from unhot.kernels.jit import block, generic, kernel
from unhot.kernels.simd.lanes import I64, LANES, Value, i64, load, splat, splat_constant
from unhot.types import Floats, Ids

GROUP = 64  # columns compared at a time: one bit each
EPSILON = 1e-6  # keeps the quotient finite; gensim's value, the paper has 0.001


class Sum(NamedTuple):
    """The table for 3CosAdd; the type selects the compiled code."""

    cosines: Floats  # [words * width] the table, row by row


class Quotient(NamedTuple):
    """The table for 3CosMul; the type selects the compiled code."""

    shifted: Floats  # [words * width] (1 + cosine) / 2, row by row


class Questions(NamedTuple):
    """The three words of each question: their rows in the table, and their names as candidates."""

    places: Ids  # [questions, 3] rows of the table: a, b, c
    words: Ids  # [questions, 3] names of a, b, c, which are never an answer


class Answers(NamedTuple):
    """The best candidate so far of each question."""

    rows: Ids  # [questions] -1: none yet
    scores: Floats  # [questions] -inf: none yet


@generic
def score(method: Any, a: int, b: int, c: int) -> Any:
    """Return the score of one candidate from its positions in the table."""


@generic
def above(method: Any, a: int, b: int, c: int, best: float) -> Any:
    """Return bits: bit i is set if the candidate i columns after these positions scores above the best."""


@kernel
def answer(
    method: Any,
    width: int,
    first: int,
    same: Ids,
    questions: Questions,
    answers: Answers,
    begin: int,
    end: int,
) -> None:
    """Update the answers of the questions begin .. end - 1 with the candidates of one table.

    width   columns of the table, a multiple of GROUP; the first column is the candidate `first`
    same    [candidates] the name of each candidate: spellings of one word share a name
    """
    for q in range(begin, end):
        at_a = np.int64(questions.places[q, 0]) * width
        at_b = np.int64(questions.places[q, 1]) * width
        at_c = np.int64(questions.places[q, 2]) * width
        words = questions.words[q]
        best = answers.scores[q]
        for at in range(0, width, GROUP):
            bits = above(method, at_a + at, at_b + at, at_c + at, best)
            column = at
            while bits != 0:  # rarely true
                if bits & 1:
                    word = same[first + column]
                    value = score(method, at_a + column, at_b + column, at_c + column)
                    if value > best and word != words[0] and word != words[1] and word != words[2]:
                        best = value
                        answers.rows[q] = first + column
                bits = (bits >> 1) & 0x7FFFFFFFFFFFFFFF
                column += 1
        answers.scores[q] = best


@score.register(Sum)
def sum_score(method: Any, a: int, b: int, c: int) -> Any:
    """Return the score of one candidate by 3CosAdd."""
    return method.cosines[b] - method.cosines[a] + method.cosines[c]


@score.register(Quotient)
def quotient_score(method: Any, a: int, b: int, c: int) -> Any:
    """Return the score of one candidate by 3CosMul."""
    return method.shifted[b] * method.shifted[c] / (method.shifted[a] + np.float32(EPSILON))


@above.register(Sum)
def sums_above(method: Any, a: int, b: int, c: int, best: float) -> Any:
    """Compare GROUP candidates by 3CosAdd."""
    return sum_bits(method.cosines, a, b, c, best)


@above.register(Quotient)
def quotients_above(method: Any, a: int, b: int, c: int, best: float) -> Any:
    """Compare GROUP candidates by 3CosMul."""
    return quotient_bits(method.shifted, a, b, c, best)


def sum_bits_twin(table: Any, a: int, b: int, c: int, best: float) -> int:
    """Compare GROUP sums in plain Python; see `above`."""
    return _bits(table[b : b + GROUP] - table[a : a + GROUP] + table[c : c + GROUP] > best)


def quotient_bits_twin(table: Any, a: int, b: int, c: int, best: float) -> int:
    """Compare GROUP quotients in plain Python; see `above`."""
    return _bits(
        table[b : b + GROUP] * table[c : c + GROUP] / (table[a : a + GROUP] + np.float32(EPSILON)) > best
    )


def _bits(flags: Any) -> int:
    return int(np.packbits(flags, bitorder="little").view(np.int64)[0])


@block(sum_bits_twin)
def sum_bits(types: Any, b: Value, table: Value, at_a: Value, at_b: Value, at_c: Value, best: Value) -> int:
    """Compare sums, a vector of columns at a time."""

    def plus(x: Value, y: Value, z: Value) -> Value:
        return b.fadd(b.fsub(y, x), z)

    return _compare(b, table, (at_a, at_b, at_c), best, plus)  # type: ignore[no-any-return]


@block(quotient_bits_twin)
def quotient_bits(
    types: Any, b: Value, table: Value, at_a: Value, at_b: Value, at_c: Value, best: Value
) -> int:
    """Compare quotients, a vector of columns at a time."""
    epsilon = splat_constant(EPSILON)

    def quotient(x: Value, y: Value, z: Value) -> Value:
        return b.fdiv(b.fmul(y, z), b.fadd(x, epsilon))

    return _compare(b, table, (at_a, at_b, at_c), best, quotient)  # type: ignore[no-any-return]


def _compare(
    b: Value, table: Value, places: tuple[Value, Value, Value], best: Value, combine: Callable[..., Value]
) -> Value:
    """Emit code that returns one bit per column; the first column is the lowest bit."""
    limit, bits = splat(b, best), i64(0)
    for first in range(0, GROUP, LANES):
        scores = combine(*(load(b, table, b.add(place, i64(first))) for place in places))
        lanes = b.zext(b.bitcast(b.fcmp_ordered(">", scores, limit), ir.IntType(LANES)), I64)
        bits = b.or_(bits, b.shl(lanes, i64(first)))
    return bits
