"""Co-occurrence cells: which words stand near which, and how much."""

from unhot.corpus.cells.cells import Cells, CellsWriter, row_ranges

__all__ = ["Cells", "CellsWriter", "row_ranges"]
