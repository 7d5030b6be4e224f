"""The kind of a file with rows, and how each kind is read and written.

The ending before that of a compression tells the kind: `x.csv.gz` is csv.
"""

from pathlib import Path

from unhot.corpus.reading.arrow import ENDINGS as PARQUET
from unhot.corpus.reading.arrow import is_parquet
from unhot.corpus.reading.cuts import LINES
from unhot.corpus.reading.files import STDIN, FileReader
from unhot.errors import DataError, one_of
from unhot.tables.batches import OpenedTable, Writer
from unhot.tables.delimited import read_delimited, write_csv, write_tsv
from unhot.tables.json_rows import read_json_rows, write_json_rows
from unhot.tables.parquet_rows import ParquetTable, write_parquet
from unhot.tables.text_lines import read_lines, write_lines

WRITERS: dict[str, Writer] = {
    "text": write_lines,
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_json_rows,
    "parquet": write_parquet,
}
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
ENDINGS |= dict.fromkeys(PARQUET, "parquet")
PACKED = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}


def ending_kind(path: Path) -> str | None:
    """Return the kind that the ending of a path says; None if it says nothing."""
    packed = path.suffix.lower() in PACKED
    kind = ENDINGS.get((path.with_suffix("") if packed else path).suffix.lower())
    if kind == "parquet" and packed:
        raise DataError(f"{path}: a parquet file is packed inside: unpack it, or take the second ending off")
    return kind


def kind_of(path: Path | None, asked: str | None = None) -> str:
    """Return the kind of a file: the one asked for, else what its ending or its bytes say, else text."""
    if asked is not None:
        one_of("kind", asked, tuple(WRITERS))
    return asked or (path and ending_kind(path)) or ("parquet" if is_parquet(path) else "text")


def open_lines(path: Path | None, force: bool) -> FileReader:
    """Open a file, or standard input (None), that is read line by line."""
    return FileReader([STDIN if path is None else path], LINES, force=force)


def open_table(path: Path | None, kind: str, force: bool = False) -> OpenedTable:
    """Open a file, or standard input (None); with `force`, also one that does not look like text."""
    where = "standard input" if path is None else str(path)
    if kind == "parquet":
        if path is None or not path.is_file():
            raise DataError(
                f"{where}: a parquet file cannot be read from a pipe, because its index is at its end: give "
                "it as a file"
            )
        table = ParquetTable(path)
        return OpenedTable(table.batches(), table.progress)
    files = open_lines(path, force)
    if kind in ("text", "jsonl"):
        return OpenedTable((read_lines if kind == "text" else read_json_rows)(files, where), files.progress)
    return OpenedTable(read_delimited(files, where, kind), files.progress)
