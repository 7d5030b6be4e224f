"""The text column of a table as the bytes that the scanner reads.

A cell is a sentence: a string, in which a line feed is only white space, or a list of strings, which are the
tokens. Cells become bytes without a Python object for each cell.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from unhot.corpus.reading.tokenizers import ESCAPE, SENTENCE_END, TOKEN_END
from unhot.rows.arrow import pa, pc
from unhot.rows.batches import LIST, TEXT, OpenedRows, TextReport
from unhot.rows.values import as_bytes

CHUNK = 1 << 20  # about how many bytes of text are made at a time


def column_chunks(opened: OpenedRows, column: str, nulls: bool, report: TextReport) -> Iterator[bytes]:
    """Yield the text of a column in chunks of sentences; `nulls`: null cells and bad rows are empty ones.

    report   counts the rows
    """
    lists = opened.holds[column]
    for batch in opened.batches({column: LIST if lists else TEXT}):
        cells = batch.cells[column] if lists else as_bytes(batch.cells[column])
        report.take_texts(batch, cells.null_count)
        if not lists:
            cells = cells.fill_null(b"") if nulls else cells.drop_null()
        rows = max(1, len(cells) * CHUNK // max(cells.nbytes, 1))
        for start in range(0, len(cells), rows):
            some = cells.slice(start, rows)
            yield _token_bytes(some) if lists else _text_bytes(some)
    report.check(opened.where)


def _text_bytes(cells: Any) -> bytes:
    return _ended(pc.replace_substring(cells, b"\n", b" "), b"\n")


def _token_bytes(cells: Any) -> bytes:
    tokens = pc.fill_null(as_bytes(cells.flatten()), b"")  # the scanner ignores empty tokens
    text = np.frombuffer(_data(tokens), np.uint8)
    if text.size and text.max() >= ESCAPE[0]:  # bytes that UTF-8 never uses; see `tokenizers.escaped`
        for number, byte in enumerate((ESCAPE, SENTENCE_END, TOKEN_END)):
            tokens = pc.replace_substring(tokens, byte, ESCAPE + bytes([number]))
    starts = np.zeros(len(cells) + 1, np.int64)
    # a null cell becomes an empty sentence
    np.cumsum(pc.fill_null(pc.list_value_length(cells), 0), out=starts[1:])
    sentences = pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(starts), tokens), pa.scalar(TOKEN_END, pa.large_binary())
    )
    return _ended(sentences, SENTENCE_END)


def _ended(cells: Any, end: bytes) -> bytes:
    """Return the bytes of all values, one after another, each with an end mark."""
    nothing, mark = (pa.scalar(text, pa.large_binary()) for text in (b"", end))
    return _data(pc.binary_join_element_wise(cells, nothing, mark))


def _data(array: Any) -> bytes:
    """Return the bytes of all values, one after another."""
    if len(array) == 0:
        return b""
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    data = array.buffers()[2]
    return b"" if data is None else data.slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes()
