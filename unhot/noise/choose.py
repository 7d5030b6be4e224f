"""Find noise by its name, as in the settings of output layers: `noise=unigram`, `noise=file:weights.csv`.

    unigram        q proportional to count ** power
    uniform        all ids are equally likely; power has no effect
    log_uniform    q by rank; ids must be sorted by descending count; power has no effect
    learned        q proportional to (count + 1) ** power, as if each id had been counted once more
    file:PATH      q proportional to weight ** power, weights from a file, line i for id i

A file has a comma-separated line for each word, with its weight in the last field: the format of TensorFlow's
`fixed_unigram_candidate_sampler`, `word,17` or just `17`. Empty lines are skipped. Only the last field is
read, so the others may hold anything, in any encoding.
"""

from __future__ import annotations

import math
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, FormatError, whole
from unhot.noise.rules import checked_weights, log_uniform, normalised, uniform, unigram
from unhot.regular import named_size
from unhot.types import Counts, Doubles

LONGEST_LINE = 2**20  # bytes; a file with a longer line is not a file of weights
UTF8_MARK = b"\xef\xbb\xbf"


def file_weights(path: str | Path) -> Doubles:
    """Return the weight in the last field of every line that is not empty: [lines]."""
    weights = array("d")
    try:
        named_size(Path(path))  # a saved model may name anything: a pipe would block
        with Path(path).open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
                if len(line) > LONGEST_LINE:
                    raise FormatError(
                        f"{path}, line {number}: longer than {LONGEST_LINE:,} bytes: this is not a file of "
                        "weights"
                    )
                text = line.removeprefix(UTF8_MARK) if number == 1 else line
                if text.strip(b"\r\n"):
                    weights.append(_weight(path, number, text.rpartition(b",")[2].strip()))
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not weights:
        raise FormatError(f"{path}: holds no weights: every line must end with a number")
    return np.array(weights)


def _weight(path: str | Path, number: int, field: bytes) -> float:
    try:
        weight = -1.0 if b"_" in field else float(field)  # only Python reads 1_000 as a number; refuse it
    except ValueError:
        weight = -1.0
    if not 0 <= weight < math.inf:
        # a saved model may name any file, so what is in it is not shown
        raise FormatError(f"{path}, line {number}: the last field must be a weight, a finite number >= 0")
    return weight


def fixed_unigram(
    weights: ArrayLike, power: float = 1.0, reserved: int = 0, shards: int = 1, shard: int = 0
) -> Doubles:
    """Return the probabilities of the ids of one shard: [ids of the shard].

    The first `reserved` ids have no line in the file and q = 0; the weights belong to the ids after them.
    With shards, a sampler holds every id with id % shards == shard, under the local number id // shards, and
    q sums to one within the shard. (With reserved ids *and* shards, TensorFlow numbers the weights from the
    reserved ids of the shard alone, so a weight may be in two shards or in none; here each weight is in
    exactly one.)
    """
    reserved = whole("reserved", reserved, 0)
    shards = whole("shards", shards, 1)
    shard = whole("shard", shard, 0, shards - 1)
    checked = checked_weights("weights", weights)
    local = np.concatenate([np.zeros(reserved), checked])[shard::shards]
    return normalised(
        local, power, f"shard {shard} of {shards} has no weight above zero, so no id can be drawn"
    )


FILE = "file:"
NOISES = ("unigram", "uniform", "log_uniform", "learned", "file:PATH")


def check_noise(field: str, spec: object) -> None:
    """Raise a `ConfigError` unless `spec` is the name of a noise. A file is not opened."""
    named = isinstance(spec, str) and (spec in NOISES[:-1] or (spec.startswith(FILE) and spec != FILE))
    if not named:
        raise ConfigError(f"{field}={spec!r}: must be one of {', '.join(NOISES)}")


def noise_probability(spec: str, counts: Counts, power: float, weights: Doubles | None = None) -> Doubles:
    """Return the probabilities of all ids under the named noise: [vocabulary].

    weights   what the file holds, if the noise is a file; None: read it
    """
    check_noise("noise", spec)
    if spec == "uniform":
        return uniform(counts.size)
    if spec == "log_uniform":
        return log_uniform(counts)
    if spec == "learned":
        return unigram(counts + 1, power)
    if spec == "unigram":
        return unigram(counts, power)
    given = file_weights(spec.removeprefix(FILE)) if weights is None else weights
    if given.size != counts.size:
        raise ConfigError(
            f"noise={spec}: the file has {given.size:,} weights for {counts.size:,} words: it must have "
            "one line for each word, line i for id i"
        )
    return fixed_unigram(given, power)
