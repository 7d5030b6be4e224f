"""A corpus together with its cells: what a model sees that is trained on counts of pairs."""

from __future__ import annotations

from pathlib import Path

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.corpus.report import Report
from unhot.corpus.shards import Shard


class CountedCorpus(Corpus):
    """A corpus that has been counted; of cells alone, one without shards. Both belong to who made them."""

    def __init__(self, cells: Cells, shards: list[Shard], report: Report) -> None:
        super().__init__(cells.directory or Path(), cells.vocabulary, shards, report)
        self.cells = cells

    @classmethod
    def from_cells(cls, cells: Cells) -> CountedCorpus:
        """Of cells whose text is gone: its words are those of the vocabulary, as far as anybody knows."""
        words = int(cells.vocabulary.counts.sum())
        return cls(cells, [], Report(words=words, kept=words, types=len(cells.vocabulary)))
