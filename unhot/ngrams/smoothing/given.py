"""Probabilities that come from a file: nothing is smoothed, and nothing can be learned."""

from dataclasses import dataclass

from unhot.errors import ConfigError
from unhot.ngrams.smoothing.smoothing import Note, Rule, Smoothing, Tally, smoothing


@smoothing("given")
@dataclass(frozen=True)
class Given(Smoothing):
    """The smoothing of a model that was read from an ARPA file."""

    def rule(self, tally: Tally, note: Note) -> Rule:
        """There is no rule."""
        raise ConfigError(
            "smoothing=given: is that of a model from a file; choose another one to learn from text"
        )
