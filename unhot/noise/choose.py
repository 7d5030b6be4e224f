"""Noise by its name, as output layers take it: `noise=unigram`, `noise=file:weights.csv`.

    unigram        count ** power
    uniform        all ids alike; no power
    log_uniform    by rank; ids must be sorted by falling count; no power
    learned        (count + 1) ** power: the streaming estimate of learned.py after so many of each
    file:PATH      weight ** power, weights from a file (from_file.py), line i for id i

A file must have as many weights as there are words.
"""

from unhot.errors import ConfigError
from unhot.noise.from_file import file_weights, fixed_unigram
from unhot.noise.rules import log_uniform, uniform, unigram
from unhot.types import Counts, Doubles

FILE = "file:"
NOISES = ("unigram", "uniform", "log_uniform", "learned", "file:PATH")


def check_noise(field: str, spec: object) -> None:
    """Raise a `ConfigError` unless there is noise of that name. A file is not opened."""
    named = isinstance(spec, str) and (spec in NOISES[:-1] or (spec.startswith(FILE) and spec != FILE))
    if not named:
        raise ConfigError(f"{field}={spec!r}: must be one of {', '.join(NOISES)}")


def noise_probability(spec: str, counts: Counts, power: float) -> Doubles:
    """Probabilities of all ids: [vocabulary]."""
    check_noise("noise", spec)
    if spec == "uniform":
        return uniform(counts.size)
    if spec == "log_uniform":
        return log_uniform(counts)
    if spec == "learned":
        return unigram(counts + 1, power)
    if spec == "unigram":
        return unigram(counts, power)
    weights = file_weights(spec.removeprefix(FILE))
    if weights.size != counts.size:
        raise ConfigError(
            f"noise={spec}: {weights.size:,} weights for {counts.size:,} words: there must be one for each "
            "word; line i belongs to id i"
        )
    return fixed_unigram(weights, power)
