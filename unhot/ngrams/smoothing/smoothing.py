"""The base class of smoothings, their registry, and the rule by which all of them become probabilities.

A smoothing says, for each order, how counts become probabilities. With c the count of the n-gram hw, c* what
is left of it, and S the sum of all c after the history h,

    p(w | h) = c* / D(h) + gamma(h) p(w | h')       h': h without its first word
    D(h)     = S + (different words after h) * per_type + plus
    gamma(h) = (D(h) - sum of the c* that are listed) / D(h)

If there are `weights`, D(h) = S / weights[floor(log2 S)].

The n-grams that are not listed, because they were not seen or are pruned, have gamma(h) p(w | h') alone. The
shortest history is empty; below it, all words have the same probability 1 / V. V counts all words that can
be predicted: those of the vocabulary, `<unk>` and `</s>`, but not `<s>`. A history that was never seen passes
on with weight 1. `how` names the smoothings that differ from that:

    BACK_OFF   a listed n-gram has c* / D(h) alone, and gamma(h) is divided by the sum of p(w | h') over the
               words that are not listed
    FIXED      a listed n-gram has c* / D(h) alone, and gamma(h) = fixed; so these are no probabilities
    FLAT       a listed n-gram has c* / D(h), and all other words share the rest evenly, which is fixed / D(h)
               each if nothing is pruned; shorter histories are not asked
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from unhot.errors import ConfigError, finite
from unhot.specs import parse_spec, registering, spec_of
from unhot.types import Counts, Doubles

INTERPOLATED, BACK_OFF, FIXED, FLAT = range(4)
MOST = 16  # counts of counts are kept for 0 .. MOST - 1
SMOOTHINGS: dict[str, type[Smoothing]] = {}
Kind = TypeVar("Kind", bound="type[Smoothing]")
Ngram = tuple[str, ...]
Note = Callable[[str], None]  # is told what is unusual about the counts


class Rule(NamedTuple):
    """How the n-grams of one order become probabilities."""

    left: Doubles = np.zeros(1)  # c* of the counts 0, 1, ...
    minus: float = 0.0  # what higher counts lose
    per_type: float = 0.0
    plus: float = 0.0
    weights: Doubles = np.zeros(0)
    how: int = INTERPOLATED
    fixed: float = 0.0


class Tally(NamedTuple):
    """What a rule is made from: the numbers of one order."""

    order: int
    n: Counts  # [MOST] n[r]: how many n-grams have the count r
    words: int  # V
    weights: Doubles = np.zeros(0)  # of Jelinek-Mercer, learned from held-out text


@dataclasses.dataclass(frozen=True)
class Smoothing:
    """Base class of all smoothings: a frozen dataclass of settings."""

    name: ClassVar[str]
    # whether a lower order counts the different words before an n-gram, not how often it occurs
    adjusted: ClassVar[bool] = False
    as_lmplz: ClassVar[bool] = False  # whether counts of counts have the exception of lmplz
    normalised: ClassVar[bool] = True  # whether the result are probabilities
    how: ClassVar[int] = INTERPOLATED
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {}  # the least and the most of settings

    def __post_init__(self) -> None:
        """Raise a `ConfigError` unless each setting with limits is None or a number between them."""
        for field, (low, high) in self.limits.items():
            value = getattr(self, field)
            if value is not None and not low <= finite(f"{self.name}:{field}", value) <= high:
                limits = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
                raise ConfigError(f"{self.name}:{field}={value}: must be {limits}")

    @property
    def step(self) -> int:
        """If not 0, each so many-th line is held out to learn weights."""
        return 0

    @property
    def unseen(self) -> float:
        """The weight for each word by which a history that was never seen is shortened."""
        return 1.0

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Return the rule of an order; tell `note` if the counts do not allow the usual formula."""
        raise NotImplementedError

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute p(word | history) in float64 from dictionaries: the executable formula.

        The history has at most order - 1 words.
        """
        raise NotImplementedError

    def spec(self) -> str:
        """Return the smoothing as a spec string; `parse_smoothing` reads it back."""
        return spec_of(self.name, self)


class Tables(NamedTuple):
    """The n-grams of a text as dictionaries, for references; a history that is missing has no words."""

    words: Set[str]  # all that can be predicted
    after: defaultdict[Ngram, Counter[str]]  # after[history][word]: how often the word occurs there
    adjusted: defaultdict[Ngram, Counter[str]]  # the same for adjusted counts
    tally: Callable[[int, bool, bool], Tally]  # of an order: of adjusted counts or not, as lmplz or not
    weights: Sequence[Doubles] = ()  # of Jelinek-Mercer, for each order

    def mixed(self, weight: Callable[[int, int, int], float], history: Ngram, word: str) -> float:
        """Compute l ML(w | h) + (1 - l) p(w | h'); below single words, p = 1 / V.

        l is weight(len(h), c(h), N1+(h .)).
        """
        lower = self.mixed(weight, history[1:], word) if history else 1 / len(self.words)
        found = self.after[history]
        if not found:
            return lower
        share = weight(len(history), found.total(), len(found))
        return float(share * found[word] / found.total() + (1 - share) * lower)


def smoothing(name: str) -> Callable[[Kind], Kind]:
    """Register a smoothing under a name."""
    return registering(SMOOTHINGS, name, "smoothing")


def parse_smoothing(spec: str | Smoothing) -> Smoothing:
    """Make a smoothing from its spec, e.g. "add_k:k=0.1"."""
    if isinstance(spec, Smoothing):
        return spec
    if not isinstance(spec, str):
        raise ConfigError(f"smoothing={spec!r}: must be a smoothing or its spec, such as 'add_k:k=0.1'")
    return parse_spec(spec, SMOOTHINGS, "smoothing", "smoothing")
