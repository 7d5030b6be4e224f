"""One file per format, and their registry.

A format is found by its name, by a path's ending, or by what a file looks like.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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
from unhot.vectors.formats.fasttext import as_table as fasttext_file
from unhot.vectors.formats.naming import (
    LINES_AND_TABS,
    NUL,
    SURROGATES,
    WHITE_SPACE,
    Unwritable,
    writable_words,
)
from unhot.vectors.formats.sniff import foreign, is_fasttext, sniff
from unhot.vectors.formats.table import Options, Table, check_options, check_table, without_repeats

__all__ = [
    "FORMATS",
    "WORDLESS",
    "Format",
    "Options",
    "Table",
    "existing_format",
    "format_name",
    "read_table",
    "write_table",
]


class Format(NamedTuple):
    """How to read and write one format."""

    endings: tuple[str, ...]  # of paths; "" for a path without any
    about: str
    reader: Callable[[Path, Options], Table]
    writer: Callable[[Path, Table], None]
    unwritable: Unwritable | None = None  # what words cannot hold


FORMATS: dict[str, Format] = {
    "unhot": Format(
        ("",), "unhot's own folder: memory-mapped, with counts", model_folder.read, model_folder.write
    ),
    "word2vec-text": Format(
        (".txt", ".vec"),
        "word2vec text, also of gensim and fastText",
        word2vec.read_text,
        word2vec.write_text,
        WHITE_SPACE,
    ),
    "word2vec-binary": Format(
        (".bin",), "word2vec binary", word2vec.read_binary, word2vec.write_binary, WHITE_SPACE
    ),
    "fasttext": Format(
        (".ftz",),
        "fastText's own .bin and .ftz; written without n-grams, with counts",
        fasttext_file.read,
        fasttext_file.write,
        NUL,
    ),
    "glove": Format((".glove",), "GloVe text, without a header", glove.read, glove.write, WHITE_SPACE),
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
# rows of n-grams and no words, hence no tables: `Vectors` reads and writes them
WORDLESS = {"floret": floret.ENDING}
ENDINGS = {ending: name for name, form in FORMATS.items() for ending in form.endings}
ENDINGS |= {ending: name for name, ending in WORDLESS.items()}
TEXT = {"word2vec-text", "glove"}  # share their endings when they are read
BOTH = {"unhot", "fasttext"}  # have input and output vectors


def read_table(
    path: Path,
    format: str | None = None,
    *,
    limit: int | None = None,
    bad_utf8: str = "escape",
    which: str = "in",
) -> Table:
    """Read a file or folder, in the format that is named, that its ending stands for, or that it looks like.

    `limit`: only the first rows. `bad_utf8`: what becomes of bytes that are not UTF-8 in words: escape (they
    come back when the word is written), error, replace (U+FFFD) or ignore. `which`: in or out vectors of a
    model folder or a fastText model. Of a word that occurs twice the first row is kept.
    """
    options = check_options(limit, bad_utf8, which)
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    name = existing_format(path, format)
    if name in WORDLESS:
        raise ConfigError(
            f"{path}: a table of {name} has rows of n-grams and no words; Vectors.load opens it and makes "
            "vectors for any word"
        )
    if which == "out" and name not in BOTH:
        raise ConfigError(
            f"which='out': {path} is of format {name}, which has one vector per word; only "
            f"{' and '.join(sorted(BOTH))} have both"
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
    """Write a file or folder, in the format that is named or that the ending stands for.

    Returns the words that are written differently -> what is written.
    """
    name = format_name(path, format)
    if name in WORDLESS:
        raise ConfigError(
            f"format={name!r}: holds rows of n-grams and no words: only vectors that have such rows can "
            "be written so"
        )
    check_table(table)
    form = FORMATS[name]
    names, renamed = writable_words(table.words, form.unwritable) if form.unwritable else (table.words, {})
    form.writer(path, table._replace(words=names))
    return renamed


def listed() -> str:
    """All formats with their endings, for errors and help."""
    endings = {
        name: " ".join(ending or "a folder" for ending in form.endings) for name, form in FORMATS.items()
    }
    return "; ".join(f"{name} ({shown or 'a folder, by name'})" for name, shown in endings.items())


def format_name(path: Path, name: str | None = None) -> str:
    """The format to write: the one named, or that of a path's ending. Also one of WORDLESS."""
    if name is not None:
        if name not in FORMATS and name not in WORDLESS:
            raise ConfigError(f"format={name!r}: must be one of {listed()}")
        return name
    found = sniff(path) if path.is_dir() else None  # whatever its name ends in
    found = found or ENDINGS.get(path.suffix.lower())
    if found is None:
        raise ConfigError(
            f"{path}: the ending {path.suffix!r} stands for no format: choose one of {listed()}, or name "
            "the format"
        )
    return found


def existing_format(path: Path, format: str | None = None) -> str:
    """The format to read with, also one of WORDLESS.

    A file without a known ending is looked at, as are text, for a header, and a .bin.
    """
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
        known = foreign(path)
        what = f"it is {known}" if known else f"name its format, one of {listed()}"
        raise FormatError(f"{path}: byte 0: looks like no format that is read here; {what}")
    return looks


def _with_hint(error: FormatError, path: Path, name: str) -> FormatError:
    """The error, with what the file looks like if that is something else than its ending says."""
    looks = sniff(path)
    if looks is not None and looks != name:
        return FormatError(f"{error} (read as {name}; it looks like {looks}: name that as its format)")
    known = foreign(path)
    return FormatError(f"{error} (the file is {known})") if known else error
