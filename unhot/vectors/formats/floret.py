"""Read and write floret's tables: rows of n-grams, without words.

Every word has a vector: the mean of the rows of its n-grams and of the marked word.

    buckets dim minn maxn hashes seed < >       the first line: how words are cut and hashed
    0 0.1 -0.2 ...                              then the number of each row and the row, in order

floret's `save_floret_vectors` writes such tables and spaCy reads them (`spacy init vectors --mode floret`).
There is one difference from floret itself, which adds a separate row to the word with id 0 (and to no other).
That row is not in the table, so spaCy does not add it either.
"""

import re
from pathlib import Path

import numpy as np

from unhot.atomic import replacing
from unhot.errors import ConfigError, FormatError
from unhot.rows.remote import uploaded
from unhot.vectors.formats.table import file_size
from unhot.vectors.formats.text_rows import glimpse, mapped, read_number_rows, text_lines
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import BEGIN, END, Subwords

HEADER = re.compile(rb"([0-9]{1,10}) " * 6 + rb"([^ \r\n]+) ([^ \r\n]+)[ \r]*\n")
HEADER_BYTES = 200
ENDING = ".floret"


def read_floret(path: str | Path) -> SubwordRows:
    """Read a floret table."""
    path = Path(path)
    text = mapped(path, file_size(path))
    found = HEADER.match(bytes(text[:HEADER_BYTES]))
    if found is None:
        raise FormatError(
            f"{path}: byte 0: this is not a floret table: its first line must be 'buckets dim minn maxn "
            f"hashes seed < >', not {glimpse(text, 0)}"
        )
    buckets, dim, minn, maxn, hashes, seed = map(int, found.groups()[:6])
    marks = (found[7].decode("utf-8", "replace"), found[8].decode("utf-8", "replace"))
    if marks != (BEGIN, END):
        raise FormatError(
            f"{path}: byte {found.start(7)}: words are marked with {marks[0]!r} and {marks[1]!r}: only the "
            f"marks {BEGIN} and {END} are supported"
        )
    try:
        subwords = Subwords(minn=minn, maxn=maxn, buckets=buckets, scheme="floret", hashes=hashes, seed=seed)
    except ConfigError as error:
        raise FormatError(f"{path}: byte 0: {error}") from error
    needed = buckets * 2 * (dim + 1) - 1
    if dim < 1 or needed > len(text) - found.end():
        raise FormatError(
            f"{path}: byte 0: {buckets} rows of {dim} numbers need at least {needed} bytes after this line; "
            f"the file has {len(text)}"
        )
    numbers, place = read_number_rows(path, text, (buckets, dim + 1), found.end())
    wrong = np.flatnonzero(numbers[:, 0] != np.arange(buckets, dtype=np.float32))
    if wrong.size:
        row = int(wrong[0])
        raise FormatError(
            f"{path}: row {row + 1}: it begins with {numbers[row, 0]:.9g}: rows must be numbered 0, 1, 2, "
            "... in order"
        )
    if bytes(text[place : place + HEADER_BYTES]).strip():
        raise FormatError(
            f"{path}: byte {place}: the file continues after the {buckets} rows that its first line announces"
        )
    return SubwordRows(subwords, numbers[:, 1:], np.empty(0, np.int32))


def write_floret(path: str | Path, rows: SubwordRows) -> None:
    """Write a floret table; a bucket without a row becomes a row of zeros."""
    subwords = rows.subwords
    if subwords.scheme != "floret":
        raise ConfigError(
            f"scheme={subwords.scheme}: a floret table can only hold rows of scheme=floret; choose another "
            "format"
        )
    settings = (subwords.buckets, rows.dim, subwords.minn, subwords.maxn, subwords.hashes, subwords.seed)
    first = 0
    with uploaded(path) as place, replacing(place) as file:
        file.write(f"{' '.join(map(str, settings))} {BEGIN} {END}\n".encode("ascii"))
        for block in rows.expanded():
            file.writelines(text_lines([str(row) for row in range(first, first + len(block))], block))
            first += len(block)
