"""What layers share that draw k noise words for a step: negative, nce, sampled_logistic, sampled.

All inputs of a step share the draws. With T targets, too: a draw counts T times where every target has a sum
of its own over them (logistic links: its weight is T, minus its hits where these are dropped). A model may
ask for m sets of k draws instead of one (`Targets.rounds`), where a draw counts T / m times: the same in the
mean, with a smaller variance.
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
from unhot.noise.choose import check_noise, noise_probability
from unhot.noise.expected import expected_counts, tries
from unhot.noise.rules import unigram
from unhot.outputs.count_losses import LogisticLoss
from unhot.outputs.layer import OutputLayer
from unhot.types import Counts, Doubles, Floats, Words64

MAX_K = 4096  # draws of a step are compared with each other
MAX_TRIES = 100  # for each of k distinct draws


class DrawnTables(NamedTuple):
    """What the kernel needs of a layer; this type chooses the logistic link."""

    noise: Words64  # alias table of q
    offset: Floats  # of each word; empty: none
    seen: Counts  # targets so far, for learned noise; empty otherwise
    k: int
    unique: bool
    drop_hits: bool


@dataclass(frozen=True, kw_only=True)
class DrawnLayer(OutputLayer):
    """Settings of the draws."""

    k: int = 5  # draws for each target
    noise: str = "unigram"  # unigram | uniform | log_uniform | learned | file:PATH
    power: float = 0.75  # unigram, learned, file: q is proportional to count ** power
    unique: bool = False  # draw until k different words are found
    bias: bool = False  # learn a bias for each word

    corrected: ClassVar[bool] = False  # scores are corrected by the log of how often a word is drawn
    target_set: ClassVar[bool] = False  # several true classes are a set, in which each counts once
    on_cells = True
    own_columns = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        object.__setattr__(self, "k", whole(f"{self.name}:k", self.k, 1, MAX_K))
        check_noise(f"{self.name}:noise", self.noise)

    def fixed_columns(self) -> int:
        """The target and k draws."""
        return self.k + 1

    def columns(self, counts: Counts, targets: int) -> int:
        """The targets and k draws."""
        return self.k + targets

    def draws(self) -> int:
        """By setting."""
        return self.k

    def batch_memory(self, counts: Counts, dim: int, size: int) -> int:
        """Distinct words are drawn from all of them, in doubles."""
        return 20 * size * counts.size if self.unique else super().batch_memory(counts, dim, size)

    def set_of_draws(self) -> int:
        """The k draws; where they must all be different there is one set."""
        return 0 if self.unique else self.k

    def probability(self, counts: Counts) -> Doubles:
        """The noise distribution q."""
        q = noise_probability(self.noise, counts, self.power)
        if self.unique and (needed := _tries(q, self.k)) > MAX_TRIES * self.k:
            raise ConfigError(
                f"{self.name}:k={self.k},unique=true: it takes {needed:.3g} draws from this noise to find "
                f"{self.k} different words; at most {MAX_TRIES} for each are sensible: lower k, or the "
                "power, or set unique=false"
            )
        return q

    def log_counts(self, q: Doubles) -> Doubles:
        """The log of c: how often each word is expected among the draws.

        A layer that needs it cannot do without any word.
        """
        if not (q > 0).all():
            raise ConfigError(
                f"{self.name}:noise={self.noise}: the word with id {int(np.argmin(q > 0))} is never drawn, "
                f"but {self.name} divides by how often a word is drawn; use noise that covers all words"
            )
        return np.log(expected_counts(q, self.k, unique=self.unique))

    def fixed_ln_z(self) -> float:
        """What all scores have more than log P, where that is a setting."""
        return 0.0

    def offset(self, q: Doubles) -> Doubles:
        """What is added to the score of each word; empty: nothing."""
        return -self.fixed_ln_z() - self.log_counts(q) if self.corrected else np.zeros(0)

    def shift(self, counts: Counts) -> Doubles:
        """What a trained score lacks of log P, or of log odds if hits are dropped: [words], or [1].

        Without a correction that is log c. A word that is never drawn has no finite one, and counts as drawn
        once.
        """
        if self.corrected:
            return np.array([-self.fixed_ln_z()])
        c = expected_counts(self.probability(counts), self.k, unique=self.unique)
        return np.log(np.where(c > 0, c, 1.0))

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """What the score converges to, solved for log P."""
        shifted = scores + self.shift(counts)
        return -np.logaddexp(0.0, -shifted) if self.drops_hits() else shifted

    def tables(self, counts: Counts) -> Any:
        """The noise as an alias table, and the offsets."""
        q = self.probability(counts)
        seen = np.ones(counts.size if self.noise == "learned" else 0, np.int64)
        tables = self.make_tables(alias_table(q), self.offset(q).astype(np.float32), seen)
        return self.fresh(tables)

    def make_tables(self, noise: Words64, offset: Floats, seen: Counts) -> Any:
        """Tables of the layer's own type."""
        return DrawnTables(noise, offset, seen, self.k, self.unique, self.drops_hits())

    def drops_hits(self) -> bool:
        """Whether draws that are the target are left out."""
        return False

    def sketch(self) -> Any:
        """One word."""
        return self.make_tables(np.zeros(1, np.uint64), np.zeros(0, np.float32), np.zeros(0, np.int64))

    def fresh(self, tables: Any) -> Any:
        """Learned noise draws from what was seen before this chunk."""
        if tables.seen.size == 0:
            return tables
        q = unigram(tables.seen, self.power)
        return tables._replace(noise=alias_table(q), offset=self.offset(q).astype(np.float32))

    def seen(self, tables: DrawnTables) -> Counts:
        """What learned noise is made from."""
        return tables.seen

    def check_cells(self) -> None:
        """The expected counts must be exact, and known beforehand."""
        super().check_cells()
        if self.unique:
            raise ConfigError(
                f"output={self.spec()}: how often a word is among distinct draws is known by approximation "
                "only; set unique=false"
            )
        if self.noise == "learned":
            raise ConfigError(
                f"{self.name}:noise=learned: is counted while text is read; "
                "on cells use unigram, uniform or log_uniform"
            )

    def count_loss(self, counts: Counts) -> LogisticLoss:
        """In expectation over the draws."""
        self.check_cells()
        q = self.probability(counts)
        expected = (self.k * q).astype(np.float32)
        return LogisticLoss(expected, self.drops_hits(), self.offset(q).astype(np.float32))


def _tries(q: Doubles, k: int) -> float:
    """About how many draws it takes to find k different words.

    If these are all words, it is the collector's wait for the rarest.
    """
    expected = tries(q, k)
    return expected if math.isfinite(expected) else (1.0 + math.log(k)) / float(q[q > 0].min())


@inner
def put_drawn(
    tables: Any, targets: Any, own: Any, each: Any, drop: Any, many: Any, state: Any, columns: Any, first: Any
) -> Any:
    """A column for each target and for each different one of so many draws.

    A target's weight is `own` times its multiplicity; a draw adds `each` to the weight of its column, less
    `drop` times its label.
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
    """Draws behind the n columns that are there."""
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
    """Draws until there are k different ones.

    A hit that is dropped may leave its weight as it was, so offsets mark what was drawn.
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
    """A yes for each target, a no for each draw and target, except for those that are dropped."""
    rounds = 1 if tables.unique else targets.rounds
    part = np.float32(1.0) / np.float32(rounds)
    each, drop = part * np.float32(targets.total), part if tables.drop_hits else np.float32(0.0)
    draws = rounds * tables.k
    return put_drawn(tables, targets, np.float32(1.0), each, drop, draws, state, columns, first)


link.register(DrawnTables)(logistic_link)
