"""The compiled part of `run_hashes.py`: hashes of words, and the buckets of runs of words."""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from unhot.kernels.jit import block, inner, kernel
from unhot.types import Bytes, Starts
from unhot.vocab.hashes import FNV_START, fnv_step

RUN_FACTOR = np.uint64(116049371)
I128 = ir.IntType(128)


def _high_product_twin(a: Any, b: Any) -> int:
    """Return the upper 64 bits of the product of two 64-bit numbers."""
    return (int(a) * int(b)) >> 64


@block(_high_product_twin)
def _high_product(types: Any, b: Any, first: Any, second: Any) -> int:
    product = b.mul(b.zext(first, I128), b.zext(second, I128))
    return b.trunc(b.lshr(product, ir.Constant(I128, 64)), ir.IntType(64))  # type: ignore[no-any-return]


@inner
def remainder(number: Any, divisor: Any, inverse: Any) -> Any:
    """Return number % divisor without a division; `inverse` is that of `inverse_of`.

    The product with the inverse gives the quotient or one less.
    """
    rest = number - np.uint64(_high_product(number, inverse)) * divisor
    return rest - divisor if rest >= divisor else rest


def inverse_of(divisor: int) -> np.uint64:
    """Return the inverse that `remainder` takes: 2^64 // divisor; for 1, one less."""
    return np.uint64(min(2**64 // divisor, 2**64 - 1))  # at most 64 bits


class RunSettings(NamedTuple):
    """How runs of words are hashed to buckets."""

    longest: int  # words of the longest run
    buckets: Any  # uint64, at least 1
    inverse: Any  # uint64: see `remainder`


def run_settings(longest: int, buckets: int) -> RunSettings:
    """Return the settings of runs; without buckets there are no runs."""
    many = max(1, buckets)
    return RunSettings(longest if buckets else 1, np.uint64(many), inverse_of(many))


@inner
def hash_bytes(text: Any, start: Any, stop: Any) -> Any:
    """Return the hash of a word as the number that runs are made of: sign-extended from 32 to 64 bits."""
    state = FNV_START
    for i in range(start, stop):
        state = fnv_step(state, text[i])
    return np.uint64(np.int64(np.int32(state)))


@kernel
def hash_words(text: Bytes, offsets: Starts, hashes: Any) -> None:
    """Write the hash of each word, text[offsets[i] : offsets[i + 1]], to `hashes` (uint64)."""
    for word in range(offsets.size - 1):
        hashes[word] = hash_bytes(text, offsets[word], offsets[word + 1])


@inner
def next_runs(runs: Any, states: Any, open_runs: Any, word: Any, out: Any, at: Any) -> Any:
    """Write the buckets of the runs that end with a word to out[at:]; return the place behind them.

    `states` holds the hashes of the last `open_runs` runs that a word can still lengthen, the longest first.
    """
    for run in range(open_runs):
        states[run] = states[run] * RUN_FACTOR + word
        out[at] = remainder(states[run], runs.buckets, runs.inverse)
        at += 1
    if open_runs == runs.longest - 1:
        for run in range(open_runs - 1):
            states[run] = states[run + 1]
        open_runs -= 1
    states[open_runs] = word
    return at
