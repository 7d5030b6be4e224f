"""Shared code of the layers that draw k noise words for a step: negative, nce, sampled_logistic, sampled.

All inputs of a step share the draws, and so do its T targets. With a logistic link every target has its own
sum over the draws, so a draw has weight T, minus its hits if hits are dropped. A model may ask for m sets of
k draws instead of one (`Targets.rounds`); then a draw has weight T / m. The mean is the same, the variance is
smaller.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unhot.errors import ConfigError, whole
from unhot.kernels.columns import candidates, find, put
from unhot.kernels.jit import inner
from unhot.kernels.linking import logistic_link
from unhot.kernels.rng import GAMMA, mix
from unhot.kernels.steps import link
from unhot.noise.alias import alias_table, draw
from unhot.noise.choose import check_noise, file_weights, noise_probability
from unhot.noise.expected import expected_counts, tries
from unhot.noise.rules import unigram
from unhot.outputs.count_losses import LogisticLoss
from unhot.outputs.layer import OutputLayer
from unhot.types import Counts, Doubles, Floats, Words64

MAX_K = 4096  # the largest k of compiled kernels: all draws of a step are compared with each other
SHOWN = 5  # the most ids that a message lists
MAX_TRIES = 100  # the most draws, on average, for each of k distinct words


class DrawnTables(NamedTuple):
    """The tables of the kernel; layers with tables of this type use the logistic link."""

    noise: Words64  # alias table of q
    offset: Floats  # [words] added to the scores; empty: no offset
    seen: Counts  # [words] how often each was a target so far, for learned noise; empty otherwise
    k: int
    unique: bool
    drop_hits: bool


@dataclass(frozen=True, kw_only=True)
class DrawnLayer(OutputLayer):
    """Base of the layers with noise: the settings of the draws."""

    k: int = 5  # draws for each target
    noise: str = "unigram"  # unigram | uniform | log_uniform | learned | file:PATH
    power: float = 0.75  # for noise unigram, learned and file: q is proportional to count ** power
    unique: bool = False  # draw until k different words are found
    bias: bool = False  # learn a bias for each word

    # whether log c, c the expected number of draws of a word, is subtracted from its score (`offset`)
    corrected: ClassVar[bool] = False
    target_set: ClassVar[bool] = False  # whether several true classes form a set, where each counts once
    on_cells = True
    own_columns = True
    readers = {"noise": (file_weights, np.float64)}

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        object.__setattr__(self, "k", whole(f"{self.name}:k", self.k, 1))
        check_noise(f"{self.name}:noise", self.noise)

    def check_compiled(self) -> None:
        """Raise a `ConfigError` if k is too large for the compiled kernel."""
        super().check_compiled()
        if self.k > MAX_K:
            raise ConfigError(
                f"{self.name}:k={self.k}: compiled kernels take k <= {MAX_K}; lower k, or train with "
                "engine='torch' (in the shell --engine torch), which takes k up to the number of words"
            )

    def fixed_columns(self) -> int:
        """Return the columns of a step with one target: the target and k draws."""
        return self.k + 1

    def columns(self, counts: Counts, targets: int) -> int:
        """Return the most columns of a step: the targets and k draws."""
        return self.k + targets

    def draws(self) -> int:
        """Return k, the number of draws for each target."""
        return self.k

    def batch_memory(self, counts: Counts, dim: int, size: int) -> int:
        """Return the bytes of a torch step; distinct draws need float64 arrays over all words."""
        return 20 * size * counts.size if self.unique else super().batch_memory(counts, dim, size)

    def set_of_draws(self) -> int:
        """Return the columns that a further set of draws adds: k, or 0 if draws are distinct."""
        return 0 if self.unique else self.k

    def probability(self, counts: Counts) -> Doubles:
        """Return the noise distribution q.

        Raise a `ConfigError` if a count is 0 and the layer needs log q, or if k distinct draws would take
        too long.
        """
        if self.corrected and self.noise == "unigram":
            never = np.flatnonzero(np.asarray(counts) == 0)
            if never.size:
                ids = ", ".join(str(i) for i in never[:SHOWN]) + (", ..." if never.size > SHOWN else "")
                raise ConfigError(
                    f"{self.name}:noise=unigram: {never.size:,} of {len(counts):,} words have the count 0 "
                    f"(ids {ids}) and are never drawn, but {self.name} needs the log of how often a word is "
                    "drawn; give each word a count of at least 1, for instance with counts.clip(1), or set "
                    "noise=uniform"
                )
        weights = self.read_file("noise") if self.files() else None
        q = noise_probability(self.noise, counts, self.power, weights)
        if self.unique and (needed := _tries(q, self.k)) > MAX_TRIES * self.k:
            raise ConfigError(
                f"{self.name}:k={self.k},unique=true: finding {self.k} different words takes {needed:.3g} "
                f"draws from this noise, more than {MAX_TRIES} for each word; lower k or the power, or set "
                "unique=false"
            )
        return q

    def log_counts(self, q: Doubles) -> Doubles:
        """Return log c, where c is how often each word is expected among the draws.

        Raise a `ConfigError` if a word is never drawn.
        """
        if not (q > 0).all():
            raise ConfigError(
                f"{self.name}:noise={self.noise}: the word with id {int(np.argmin(q > 0))} is never drawn, "
                f"but {self.name} needs the log of how often a word is drawn; use noise that covers all words"
            )
        return np.log(expected_counts(q, self.k, unique=self.unique))

    def fixed_ln_z(self) -> float:
        """Return the fixed ln Z by which all scores exceed log P; 0 unless a setting gives it."""
        return 0.0

    def offset(self, q: Doubles) -> Doubles:
        """Return the number added to each word's score; an empty array adds nothing."""
        return -self.fixed_ln_z() - self.log_counts(q) if self.corrected else np.zeros(0)

    def shift(self, counts: Counts) -> Doubles:
        """Return log P - s of trained scores s, or log odds - s if hits are dropped: [words], or [1].

        Without a correction this is log c. For a word that is never drawn, log c is infinite; it counts as
        drawn once.
        """
        if self.corrected:
            return np.array([-self.fixed_ln_z()])
        c = expected_counts(self.probability(counts), self.k, unique=self.unique)
        return np.log(np.where(c > 0, c, 1.0))

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return log P of all words: the limit of the trained score, solved for log P."""
        shifted = scores + self.shift(counts)
        return -np.logaddexp(0.0, -shifted) if self.drops_hits() else shifted

    def tables(self, counts: Counts) -> Any:
        """Return the tables of the kernel: the noise as an alias table, and the offsets."""
        q = self.probability(counts)
        seen = np.ones(counts.size if self.noise == "learned" else 0, np.int64)
        tables = self.make_tables(alias_table(q), self.offset(q).astype(np.float32), seen)
        return self.fresh(tables)

    def make_tables(self, noise: Words64, offset: Floats, seen: Counts) -> Any:
        """Make the tables; their type decides which link the kernel uses."""
        return DrawnTables(noise, offset, seen, self.k, self.unique, self.drops_hits())

    def drops_hits(self) -> bool:
        """Return whether draws that hit the target are dropped."""
        return False

    def sketch(self) -> Any:
        """Return tables for one word, to compile with."""
        return self.make_tables(np.zeros(1, np.uint64), np.zeros(0, np.float32), np.zeros(0, np.int64))

    def fresh(self, tables: Any) -> Any:
        """Return the tables for the next chunk; learned noise is made from all targets seen before it."""
        if tables.seen.size == 0:
            return tables
        q = unigram(tables.seen, self.power)
        return tables._replace(noise=alias_table(q), offset=self.offset(q).astype(np.float32))

    def seen(self, tables: DrawnTables) -> Counts:
        """Return the counts of targets that learned noise is made from."""
        return tables.seen

    def check_cells(self) -> None:
        """Raise a `ConfigError` unless the expected counts are exact and known before training."""
        super().check_cells()
        if self.unique:
            raise ConfigError(
                f"output={self.spec()}: training on cells needs exact expected counts, which are only "
                "approximate for distinct draws; set unique=false"
            )
        if self.noise == "learned":
            raise ConfigError(
                f"{self.name}:noise=learned: learned noise is counted while text is read; "
                "on cells use unigram, uniform or log_uniform"
            )

    def count_loss(self, counts: Counts) -> LogisticLoss:
        """Return the loss over a whole text, in expectation over the draws."""
        self.check_cells()
        q = self.probability(counts)
        expected = (self.k * q).astype(np.float32)
        return LogisticLoss(expected, self.drops_hits(), self.offset(q).astype(np.float32))


def _tries(q: Doubles, k: int) -> float:
    """Estimate the number of draws needed to find k different words.

    If k is the number of all words, this is the coupon collector's wait for the rarest word.
    """
    expected = tries(q, k)
    return expected if math.isfinite(expected) else (1.0 + math.log(k)) / float(q[q > 0].min())


@inner
def put_drawn(
    tables: Any, targets: Any, own: Any, each: Any, drop: Any, many: Any, state: Any, columns: Any, first: Any
) -> Any:
    """Write down a column for each target and for each different word among `many` draws.

    A target has the weight `own` times its multiplicity. A draw adds `each` - `drop` * label to the weight of
    its column.
    """
    for i in range(targets.n):
        times = targets.times[targets.times_at + i]
        put(columns, first + i, targets.word[targets.at + i], times, own * times, 0.0)
    if tables.seen.size > 0:
        for i in range(targets.n):
            tables.seen[columns.row[first + i]] += np.int64(columns.label[first + i])
    if tables.unique:
        n, state = _draw_different(tables, targets.n, each, drop, state, columns, first)
    else:
        n, state = _draw(tables, targets.n, each, drop, many, state, columns, first)
    if tables.offset.size > 0:
        for c in range(first, first + n):
            columns.offset[c] = tables.offset[columns.row[c]]
    return n, state


@inner
def _draw(tables: Any, n: Any, each: Any, drop: Any, many: Any, state: Any, columns: Any, first: Any) -> Any:
    """Draw words and write down their columns behind the first n columns."""
    for _ in range(many):
        state += GAMMA
        word = draw(tables.noise, mix(state))
        at = find(columns, first, n, word)
        if at < 0:
            put(columns, first + n, word, 0.0, each, 0.0)
            n += 1
        else:
            columns.weight[first + at] += each - drop * columns.label[first + at]
    return n, state


@inner
def _draw_different(tables: Any, n: Any, each: Any, drop: Any, state: Any, columns: Any, first: Any) -> Any:
    """Draw until k different words are found.

    The weight of a dropped hit may stay unchanged, so the column's offset marks the words already drawn.
    """
    drawn = 0
    while drawn < tables.k:
        state += GAMMA
        word = draw(tables.noise, mix(state))
        at = find(columns, first, n, word)
        if at < 0:
            put(columns, first + n, word, 0.0, each, 1.0)
            n += 1
        elif columns.offset[first + at] == 0.0:
            columns.weight[first + at] += each - drop * columns.label[first + at]
            columns.offset[first + at] = np.float32(1.0)
        else:
            continue
        drawn += 1
    for c in range(first, first + n):
        columns.offset[c] = np.float32(0.0)
    return n, state


@candidates.register(DrawnTables)
def _candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    """Write down each target with label 1, and a 0 for each draw and target unless the hit is dropped."""
    rounds = 1 if tables.unique else targets.rounds
    part = np.float32(1.0) / np.float32(rounds)
    each, drop = part * np.float32(targets.total), part if tables.drop_hits else np.float32(0.0)
    draws = rounds * tables.k
    return put_drawn(tables, targets, np.float32(1.0), each, drop, draws, state, columns, first)


link.register(DrawnTables)(logistic_link)
