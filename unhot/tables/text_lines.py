"""Plain text: a line is a text. Results are lines of values with tabs between them."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from unhot.corpus.reading.files import FileReader
from unhot.corpus.reading.text_blocks import Pool
from unhot.tables.batches import GOAL, RowBatch
from unhot.vocab.vocabulary import decode_word, encode_word

BREAKS = str.maketrans("\t\n\r", "   ")  # a label that holds one of these would break its line


def line_blocks(files: FileReader) -> Iterator[bytes]:
    """Yield the text of files in blocks of whole lines; the reader must cut at line feeds only."""
    pool = Pool()
    for block in files.blocks(pool, GOAL):
        yield block.text[: block.size].tobytes()
        pool.give(block)


def read_lines(files: FileReader, where: str) -> Iterator[RowBatch]:
    """Yield lines of text as the cells of a column that is not kept; CR LF ends a line as LF does."""
    for data in line_blocks(files):
        lines = decode_word(data.replace(b"\r\n", b"\n")).split("\n")[:-1]
        yield RowBatch(where, {"text": False}, lambda _, lines=lines: lines, [{}] * len(lines))  # type: ignore[misc]


def write_lines(batches: Iterator[tuple[RowBatch, list[list[Any]]]], names: list[str]) -> Iterator[bytes]:
    """Yield the new values of each row as a line, and nothing else."""
    for _, columns in batches:
        rows = zip(*columns, strict=True)
        yield encode_word("".join(["\t".join(map(_field, _interleaved(row))) + "\n" for row in rows]))


def _interleaved(row: tuple[Any, ...]) -> Iterable[Any]:
    """Return the values of a row; if they are lists, the first value of each, then the second of each."""
    return chain.from_iterable(zip(*row, strict=True)) if isinstance(row[0], list) else row


def _field(value: Any) -> str:
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(BREAKS)
    return "" if value is None else str(value)
