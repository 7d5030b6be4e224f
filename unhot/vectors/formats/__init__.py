"""The registry of formats for word vectors; each format is one module.

A format is chosen by its name, by the ending of a path, or by the first bytes of a file. These serve paths
without a known ending, and error messages about files with a wrong ending.
"""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from unhot.atomic import replacing
from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors.formats import (
    floret,
    glove,
    model2vec,
    model_folder,
    npy,
    parquet,
    projector,
    tensor_file,
    word2vec,
)
from unhot.vectors.formats.directory import is_model
from unhot.vectors.formats.fasttext import model_file as fasttext_file
from unhot.vectors.formats.fasttext.header import SIGNATURE
from unhot.vectors.formats.table import (
    LINES_AND_TABS,
    NUL,
    SURROGATES,
    WHITE_SPACE,
    Options,
    Table,
    Unwritable,
    check_options,
    check_regular,
    check_table,
    without_repeats,
    writable_words,
)
from unhot.vectors.formats.text_rows import mapped

__all__ = [
    "FORMATS",
    "STREAMED",
    "WORDLESS",
    "Format",
    "Options",
    "Table",
    "existing_format",
    "format_name",
    "read_table",
    "stream_table",
    "write_table",
]


class Format(NamedTuple):
    """How to read and write one format."""

    endings: tuple[str, ...]  # endings of paths; "" for a path without an ending
    about: str  # a description for help texts
    reader: Callable[[Path, Options], Table]
    writer: Callable[[Path, Table], None]
    unwritable: Unwritable | None = None  # characters that words in this format cannot contain


def _filled(put: Callable[[BinaryIO, Table], None]) -> Callable[[Path, Table], None]:
    """Return how to write a whole file of a format that is written from front to back."""

    def write(path: Path, table: Table) -> None:
        with replacing(path) as file:
            put(file, table)

    return write


FORMATS: dict[str, Format] = {
    "unhot": Format(
        ("",), "unhot's own folder: memory-mapped, with counts", model_folder.read, model_folder.write
    ),
    "word2vec-text": Format(
        (".txt", ".vec"),
        "word2vec text, also of gensim and fastText",
        word2vec.read_text,
        _filled(word2vec.put_text),
        WHITE_SPACE,
    ),
    "word2vec-binary": Format(
        (".bin",), "word2vec binary", word2vec.read_binary, _filled(word2vec.put_binary), WHITE_SPACE
    ),
    "fasttext": Format(
        (".ftz",),
        "fastText's own .bin and .ftz; written without n-grams, with counts",
        fasttext_file.read,
        fasttext_file.write,
        NUL,
    ),
    "glove": Format((".glove",), "GloVe text, without a header", glove.read, _filled(glove.put), WHITE_SPACE),
    "npy": Format((".npy",), "NumPy matrix, and X.words.txt beside it", npy.read, npy.write),
    "safetensors": Format(
        (".safetensors",), "one safetensors file, with counts", tensor_file.read, tensor_file.write
    ),
    "model2vec": Format(
        (), "folder for model2vec and sentence-transformers", model2vec.read, model2vec.write, SURROGATES
    ),
    "parquet": Format(
        (".parquet",), "columns word, count, vector (extra: arrow)", parquet.read, parquet.write, SURROGATES
    ),
    "projector": Format(
        (".tsv",),
        "TensorBoard projector: vectors and metadata",
        projector.read,
        projector.write,
        LINES_AND_TABS,
    ),
}
# formats with rows of n-grams but no words, so they are not tables: only `SubwordVectors` handle them
WORDLESS = {"floret": floret.ENDING}
ENDINGS = {ending: name for name, form in FORMATS.items() for ending in form.endings}
ENDINGS |= {ending: name for name, ending in WORDLESS.items()}
# formats that are written from front to back, so that a pipe can take them
STREAMED: dict[str, Callable[[BinaryIO, Table], None]] = {
    "word2vec-text": word2vec.put_text,
    "word2vec-binary": word2vec.put_binary,
    "glove": glove.put,
}
PACKED = (".gz", ".bz2", ".xz", ".zst")  # endings that promise compression
TEXT = {"word2vec-text", "glove"}  # formats that share endings, so that reading looks at the first line
BOTH = {"unhot", "fasttext"}  # formats with input and output vectors
MAGIC = {SIGNATURE: "fasttext", npy.MAGIC: "npy", parquet.MAGIC: "parquet"}
# file types that are recognised but cannot be read, and what to do instead
FOREIGN = {
    b"\x80": "a pickle, e.g. from gensim's save, which unhot never opens: write the vectors with gensim's "
    "save_word2vec_format",
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"BZh": "compressed with bzip2: unpack it first",
    b"\xfd7zXZ": "compressed with xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it first",
}


def read_table(
    path: Path,
    format: str | None = None,
    *,
    limit: int | None = None,
    bad_utf8: str = "escape",
    which: str = "in",
) -> Table:
    """Read a file or folder; the format is the given one, or is recognised by ending or content.

    `limit`: read only that many rows. `bad_utf8`: how to read bytes in words that are not UTF-8: escape (they
    come back when the word is written), error, replace (U+FFFD) or ignore. `which`: the in or out vectors of
    a model folder or a fastText model. If a word occurs twice, its first row is kept.
    """
    options = check_options(limit, bad_utf8, which)
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    name = existing_format(path, format)
    if name in WORDLESS:
        raise ConfigError(
            f"{path}: a {name} table has rows of n-grams but no words; open it with Vectors.load, which "
            "makes vectors for any word"
        )
    if which == "out" and name not in BOTH:
        raise ConfigError(
            f"which='out': {path} has the format {name}, which has one vector per word; only "
            f"{' and '.join(sorted(BOTH))} have both in and out vectors"
        )
    try:
        table = FORMATS[name].reader(path, options)
    except FormatError as error:
        if format is not None:
            raise
        raise _with_hint(error, path, name) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    return table if name == "unhot" and bad_utf8 in ("escape", "error") else without_repeats(table, path)


def write_table(path: Path, table: Table, format: str | None = None) -> dict[str, str]:
    """Write a file or folder, in the given format or the one that the path's ending stands for.

    Return a dictionary of words that the format cannot hold -> what was written instead.
    """
    name = format_name(path, format)
    if path.suffix.lower() in PACKED:
        raise ConfigError(f"{path}: vectors are not written compressed: leave {path.suffix} out of the name")
    if name in WORDLESS:
        raise ConfigError(
            f"format={name!r}: it stores rows of n-grams, not of words, but these vectors have no n-grams: "
            "choose another format"
        )
    named, renamed = _named(table, name)
    FORMATS[name].writer(path, named)
    return renamed


def stream_table(file: BinaryIO, table: Table, name: str) -> dict[str, str]:
    """Write one of the STREAMED formats to an open file, and return renamed words as `write_table` does."""
    named, renamed = _named(table, name)
    STREAMED[name](file, named)
    return renamed


def _named(table: Table, name: str) -> tuple[Table, dict[str, str]]:
    """Return a table with words that the format can hold, and a dictionary of renamed words."""
    check_table(table)
    unwritable = FORMATS[name].unwritable
    names, renamed = writable_words(table.words, unwritable) if unwritable else (table.words, {})
    return table._replace(words=names), renamed


def listed() -> str:
    """Return a list of all formats with their endings, for errors and help."""
    endings = {
        name: " ".join(ending or "a folder" for ending in form.endings) for name, form in FORMATS.items()
    }
    return "; ".join(f"{name} ({shown or 'a folder, by name'})" for name, shown in endings.items())


def format_name(path: Path, name: str | None = None) -> str:
    """Return the format to write, perhaps a WORDLESS one: the given name, or that of the path's ending."""
    if name is not None:
        if name not in FORMATS and name not in WORDLESS:
            raise ConfigError(f"format={name!r}: must be one of {listed()}")
        return name
    found = sniff(path) if path.is_dir() else None  # the ending of a folder's name does not matter
    found = found or ENDINGS.get(path.suffix.lower())
    if found is None:
        raise ConfigError(
            f"{path}: the ending {path.suffix!r} does not stand for a format: choose one of {listed()}, or "
            "name the format"
        )
    return found


def existing_format(path: Path, format: str | None = None) -> str:
    """Return the format of an existing file or folder, perhaps a WORDLESS one.

    Text, .bin files and files without a known ending are recognised by their first bytes.
    """
    check_regular(path)
    if format is not None or path.is_dir():
        return format_name(path, format)
    ending = path.suffix.lower()
    if ending in FORMATS["word2vec-binary"].endings and is_fasttext(path):
        return "fasttext"
    by_ending = ENDINGS.get(ending) if ending else None
    if by_ending is not None and by_ending not in TEXT:
        return by_ending
    looks = sniff(path)
    if by_ending is not None:
        return looks if looks in TEXT else by_ending
    if looks is None:
        known = foreign(path) or ("empty" if path.stat().st_size == 0 else None)
        what = f"it is {known}" if known else f"name its format, one of {listed()}"
        raise FormatError(f"{path}: byte 0: the format cannot be recognised; {what}")
    return looks


def _with_hint(error: FormatError, path: Path, name: str) -> FormatError:
    """Return the error with a hint, if the content looks like another format than the ending says."""
    looks = sniff(path)
    if looks is not None and looks != name:
        return FormatError(f"{error} (read as {name}, but it looks like {looks}: give that as its format)")
    known = foreign(path) or ("empty" if path.is_file() and path.stat().st_size == 0 else None)
    if known is not None:
        return FormatError(f"{error} (the file is {known})")
    if looks is None and name in TEXT:
        return FormatError(f"{error} (if it is a text to learn from, first train a model: unhot train)")
    return error


def sniff(path: Path) -> str | None:
    """Return the format that a file or folder looks like; None if it is not recognised."""
    if path.is_dir():
        return _sniff_folder(path)
    size, head = path.stat().st_size, head_of(path)
    by_magic = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    if by_magic is not None:
        return by_magic
    found = floret.HEADER.match(head)
    if found is not None and found.groups()[6:] == (b"<", b">"):  # the other fields could be any numbers
        return "floret"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8:
        return "safetensors"
    if foreign(path):
        return None
    return _sniff_rows(path, size)


def is_fasttext(path: Path) -> bool:
    """Return whether a file is a fastText model: these share the ending .bin with word2vec."""
    try:
        return head_of(path).startswith(SIGNATURE)
    except OSError:  # the reader will raise a better error
        return False


def foreign(path: Path) -> str | None:
    """Return what a file is and what to do with it, if it has a known type that cannot be read."""
    head = head_of(path)
    return next((about for magic, about in FOREIGN.items() if head.startswith(magic)), None)


def head_of(path: Path) -> bytes:
    """Return the first bytes of a regular file; empty otherwise, because reading a pipe would block."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(floret.HEADER_BYTES)


def _sniff_folder(path: Path) -> str | None:
    if is_model(path):
        return "unhot"
    if model2vec.find_layout(path) is not None:
        return "model2vec"
    return "projector" if (path / projector.VECTORS).is_file() else None


def _sniff_rows(path: Path, size: int) -> str | None:
    """Tell the formats with rows apart: text or binary, with or without a first line `rows dim`."""
    text = mapped(path, size)
    header = word2vec.HEADER.match(bytes(text[: word2vec.HEADER_BYTES]))
    if header and size == header.end():  # there are no rows to look at
        return "word2vec-binary" if path.suffix.lower() == ".bin" else "word2vec-text"
    found = glove.width(text[header.end() :] if header else text)
    if header is None:
        tabs = bytes(text[:4096]).split(b"\n", 1)[0].count(b"\t")
        return None if found is None else "projector" if tabs and path.suffix.lower() == ".tsv" else "glove"
    # Rows of text stay text if the header is wrong; without a number in a row, they are not binary either.
    return "word2vec-text" if found or not int(header[2]) else "word2vec-binary"
