"""Find noise by its name, as in the settings of output layers: `noise=unigram`, `noise=file:weights.csv`.

    unigram        q proportional to count ** power
    uniform        all ids are equally likely; power has no effect
    log_uniform    q by rank; ids must be sorted by descending count; power has no effect
    learned        q proportional to (count + 1) ** power, as if each id had been counted once more
    file:PATH      q proportional to weight ** power, weights from a file (from_file.py), line i for id i

A file must have one weight for each word.
"""

from unhot.errors import ConfigError
from unhot.noise.from_file import file_weights, fixed_unigram
from unhot.noise.rules import log_uniform, uniform, unigram
from unhot.types import Counts, Doubles

FILE = "file:"
NOISES = ("unigram", "uniform", "log_uniform", "learned", "file:PATH")


def check_noise(field: str, spec: object) -> None:
    """Raise a `ConfigError` unless `spec` is the name of a noise. A file is not opened."""
    named = isinstance(spec, str) and (spec in NOISES[:-1] or (spec.startswith(FILE) and spec != FILE))
    if not named:
        raise ConfigError(f"{field}={spec!r}: must be one of {', '.join(NOISES)}")


def noise_probability(spec: str, counts: Counts, power: float) -> Doubles:
    """Return the probabilities of all ids under the named noise: [vocabulary]."""
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
            f"noise={spec}: the file has {weights.size:,} weights for {counts.size:,} words: it must have "
            "one line for each word, line i for id i"
        )
    return fixed_unigram(weights, power)
