"""Read and write files of TensorBoard's embedding projector: `X.tsv` and its metadata.

    vectors.tsv              one vector per line, numbers separated by tabs
    metadata.tsv             one word per line; with counts: a line `word<tab>count`, then one pair per line
    projector_config.pbtxt   tells TensorBoard where the two files are, if the folder is its --logdir

The metadata of `vectors.tsv` is `metadata.tsv`, that of any other `X.tsv` is `X.metadata.tsv`. The
projector's web page loads both files. A word cannot contain a tab or a line end; see table.py.
"""

from pathlib import Path

import numpy as np

from unhot.atomic import replacing
from unhot.errors import DataError, FormatError
from unhot.types import Counts
from unhot.vectors.formats.shortest import shortest_doubles
from unhot.vectors.formats.table import ALL, Options, Table, blocks, file_size, treat_bad_utf8
from unhot.vectors.formats.text_rows import announced_rows, mapped, read_number_rows
from unhot.vocab.vocabulary import decode_words, encode_word

VECTORS = "vectors.tsv"
METADATA = "metadata.tsv"
CONFIG = "projector_config.pbtxt"
HEADER = "word\tcount"
WORD_COLUMNS = (b"word", b"words", b"label", b"name", b"token")


def metadata_path(path: Path) -> Path:
    """Return the path of the words that belong to a file of vectors."""
    return path.with_name(METADATA) if path.name == VECTORS else path.with_suffix(".metadata.tsv")


def write(path: Path, table: Table) -> None:
    """Write the three files, and give them their names at the end: a full disk leaves the old ones."""
    path = path / VECTORS if path.is_dir() else path
    config = _config(path)
    line = "\t".join(["%.9g"] * table.vectors.shape[1]) + "\n"
    lines = table.words
    if table.counts is not None:
        pairs = zip(table.words, table.counts.tolist(), strict=True)
        lines = [HEADER, *(f"{word}\t{count}" for word, count in pairs)]
    with replacing(path) as file:
        for _, block in blocks(table.vectors):
            file.write("".join(line % tuple(row) for row in shortest_doubles(block).tolist()).encode("ascii"))
        file.flush()
        with replacing(path.with_name(CONFIG)) as described, replacing(metadata_path(path)) as words:
            described.write(config)
            words.write(encode_word("".join(f"{each}\n" for each in lines)))


def read(path: Path, options: Options = ALL) -> Table:
    """Read vectors and metadata; `path` is the file of vectors, or a folder with vectors.tsv."""
    path = path / VECTORS if path.is_dir() else path
    text = mapped(path, file_size(path))
    dim = bytes(text[: 1 << 24]).split(b"\n", 1)[0].count(b"\t") + 1
    announced = announced_rows(path, text, dim, 2 * dim, len(text))
    rows = options.rows(announced)
    words, counts = _read_metadata(metadata_path(path), options, announced)
    return Table(words, read_number_rows(path, text, (rows, dim))[0], counts)


def _config(path: Path) -> bytes:
    """Return the text of the configuration; raise a `DataError` if the folder has a different one."""
    lines = (
        "embeddings {",
        f'  tensor_path: "{path.name}"',
        f'  metadata_path: "{metadata_path(path).name}"',
        "}",
        "",
    )
    config = encode_word("\n".join(lines))
    there = path.with_name(CONFIG)
    if there.is_file() and there.read_bytes() != config:
        raise DataError(
            f"{there}: this file exists and names other vectors: choose another folder, or remove the file"
        )
    return config


def _read_metadata(path: Path, options: Options, announced: int) -> tuple[list[str], Counts | None]:
    """Return the words and, if there is a column `count`, the counts.

    If there are several columns, the first line must name them.
    """
    data = path.read_bytes() if file_size(path) else b""
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    header = lines.pop(0).rstrip(b"\r").lower().split(b"\t") if len(lines) == announced + 1 else []
    if len(lines) != announced:
        raise FormatError(
            f"{path}: byte {len(data)}: there are {len(lines)} lines for {announced} vectors: give one line "
            "for each vector, and perhaps a first line with the names of columns"
        )
    del lines[options.rows(announced) :]
    if not header and any(b"\t" in line for line in lines):
        raise FormatError(
            f"{path}: byte 0: several columns need a first line that names them, as in TensorBoard"
        )
    column = next((i for i, name in enumerate(header) if name in WORD_COLUMNS), 0)
    words = treat_bad_utf8(decode_words(_column(path, lines, column)), path, options.bad_utf8)
    return words, _counts(path, _column(path, lines, header.index(b"count"))) if b"count" in header else None


def _column(path: Path, lines: list[bytes], column: int) -> list[bytes]:
    cells = [line.rstrip(b"\r").split(b"\t", column + 1)[column : column + 1] for line in lines]
    if [] in cells:
        row = cells.index([])
        raise FormatError(f"{path}: row {row + 1}: column {column + 1} is missing: {lines[row][:40]!r}")
    return [cell for (cell,) in cells]


def _counts(path: Path, cells: list[bytes]) -> Counts:
    for row, cell in enumerate(cells):
        if not cell.isdigit() or len(cell) > 18:
            raise FormatError(f"{path}: row {row + 1}: the count {cell[:40]!r} is not a whole number >= 0")
    return np.array([int(cell) for cell in cells], np.int64)
