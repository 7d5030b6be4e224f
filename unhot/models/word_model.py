"""Models that predict words near each other in a text: skip-gram, CBOW, fastText."""

import contextlib
import dataclasses
from typing import Any

from unhot.corpus.cells import Cells
from unhot.errors import ConfigError
from unhot.models.fitting import Reads, Tells
from unhot.models.learned_words import LearnedWords
from unhot.models.text_model import TextModel
from unhot.models.window_model import WindowModel


@dataclasses.dataclass(kw_only=True)
class WordModel(WindowModel, TextModel[LearnedWords]):
    """Settings of a word model; after `fit` or `load`, also its learned state."""

    def open_input(self, reads: Reads, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Check the settings, then open the encoded text."""
        if isinstance(reads.source, Cells):
            raise ConfigError(
                f"Cells as a source: {self.name} learns from text; only glove, svd, and skipgram with "
                "on='cells' learn from Cells"
            )
        self.check_task()
        return self.open_text(reads, tells)
