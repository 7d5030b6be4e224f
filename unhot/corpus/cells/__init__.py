"""Co-occurrence cells: how often each word stands near each other word."""

from unhot.corpus.cells.cells import Cells, CellsWriter, row_ranges

__all__ = ["Cells", "CellsWriter", "row_ranges"]
