"""Read and write whole fastText files, as models and as tables.

Reading maps the file, so that only the dictionary takes time. Writing works in chunks, so that matrices need
not be in memory; an error leaves no partial file.

As a table, a model has the vectors of its words, composed of rows and n-grams. A table is written as a model
without n-grams.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unhot.atomic import replacing
from unhot.errors import ConfigError, DataError, one_of, whole
from unhot.rows.remote import uploaded
from unhot.types import Floats, Ids, Starts
from unhot.vectors.formats.fasttext.dictionary import Dictionary, dictionary_chunks, read_dictionary
from unhot.vectors.formats.fasttext.header import Cursor, Header, read_header
from unhot.vectors.formats.fasttext.matrices import (
    QuantizedMatrix,
    RowBlocks,
    dense_chunks,
    quantized_chunks,
    read_dense,
    read_quantized,
)
from unhot.vectors.formats.table import (
    ALL,
    BAD_UTF8,
    Options,
    Table,
    check_growth,
    checked_counts,
    file_size,
    treat_bad_utf8,
)
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords

Matrix: TypeAlias = Floats | QuantizedMatrix | RowBlocks  # RowBlocks can only be written
UNREAD = "these rows come in blocks and can only be written: write the file, then read it"


class FastTextFile(NamedTuple):
    """A fastText model: settings, words and labels, input and output rows."""

    header: Header
    dictionary: Dictionary
    input_matrix: Matrix  # [words + buckets, dim], or [words + n-grams kept, dim]
    output_matrix: Matrix  # [words, dim], supervised [labels, dim]; no rows: there is no output layer
    # the flag in the file; fastText ignores it unless the input is quantised
    quantized_output: bool = False

    @property
    def quantized(self) -> bool:
        """Whether the input rows are quantised, as in an .ftz file."""
        return isinstance(self.input_matrix, QuantizedMatrix)

    def rows(self) -> SubwordRows:
        """Return the rows from which the vectors of words are composed.

        In a pruned file, n-grams without a row are left out of the mean.
        """
        if isinstance(self.input_matrix, RowBlocks):
            raise ConfigError(UNREAD)
        subwords, pruned = self.header.subwords, self.dictionary.pruned
        own = np.arange(len(self.dictionary.words), dtype=np.int32)
        if pruned is None:
            return SubwordRows(subwords, self.input_matrix, own, first_bucket=len(own))
        order = np.argsort(pruned.buckets)
        rows, buckets = pruned.rows[order] + np.int32(len(own)), pruned.buckets[order]
        return SubwordRows(subwords, self.input_matrix, own, rows, skips=True, bucket_ids=buckets)


def matrix_rows(matrix: Matrix, ids: Ids | Starts) -> Floats:
    """Return some rows of a matrix; raise a `ConfigError` if it can only be written."""
    if isinstance(matrix, RowBlocks):
        raise ConfigError(UNREAD)
    if isinstance(matrix, QuantizedMatrix):
        return matrix.rows(ids)
    return np.ascontiguousarray(matrix[ids], np.float32)


def input_shape(header: Header, dictionary: Dictionary) -> tuple[int, int]:
    """Return the rows and columns that the input matrix must have."""
    kept = header.bucket if dictionary.pruned is None else len(dictionary.pruned.buckets)
    return len(dictionary.words) + kept, header.dim


def output_shape(header: Header, dictionary: Dictionary) -> tuple[int, int]:
    """Return the rows and columns that the output matrix must have."""
    return len(dictionary.labels if header.supervised else dictionary.words), header.dim


def new_file(
    words: Sequence[str],
    counts: ArrayLike | None,
    subwords: Subwords,
    input_matrix: Floats | RowBlocks,
    output_matrix: Floats | RowBlocks | None = None,
    tokens: int | None = None,
    **fields: Any,
) -> FastTextFile:
    """Make a model without labels from its parts.

    `input_matrix` has the rows of all words and then of all buckets; `tokens` is the size of the text if it
    is more than the sum of the counts; `fields` are those of `Header`. If the counts are unknown, tokens
    is 0 in the file, and all counts are 1, because gensim drops words with count 0.
    """
    if subwords.scheme != "fasttext":
        raise ConfigError(
            f"scheme={subwords.scheme}: fastText's files hold only scheme=fasttext; write a .floret table"
        )
    if len(set(words)) < len(words):
        raise DataError(
            f"{len(words) - len(set(words))} words occur more than once; remove the repeated rows"
        )
    dim = input_matrix.shape[1]
    header = Header(dim=dim, bucket=subwords.buckets, minn=subwords.minn, maxn=subwords.maxn, **fields)
    checked = checked_counts(np.ones(len(words), np.int64) if counts is None else counts, len(words))
    known = int(checked.sum()) if counts is not None else 0
    size = known if tokens is None else whole("tokens", tokens, 0)
    dictionary = Dictionary(list(words), checked, [], checked[:0], size)
    none = RowBlocks((0, dim), [])
    file = FastTextFile(header, dictionary, input_matrix, none if output_matrix is None else output_matrix)
    check_shapes(file)
    return file


def check_shapes(file: FastTextFile) -> None:
    """Raise a `DataError` unless the matrices have one row for each word, bucket or label."""
    wanted = input_shape(file.header, file.dictionary)
    if file.input_matrix.shape != wanted:
        raise DataError(
            f"the input matrix has shape {file.input_matrix.shape}: it must be {wanted}, with one row for "
            "each word and each bucket"
        )
    wanted = output_shape(file.header, file.dictionary)
    none = (0, file.header.dim)
    if file.output_matrix.shape != wanted and (file.header.supervised or file.output_matrix.shape != none):
        raise DataError(
            f"the output matrix has shape {file.output_matrix.shape}: it must be {wanted}, with one row for "
            "each word, or for each label of a supervised model"
        )


def read_fasttext(path: str | Path, bad_utf8: str = "escape") -> FastTextFile:
    """Open a `.bin` or `.ftz` file; the matrices are memory-mapped.

    `bad_utf8`: how to read bytes in words that are not UTF-8: escape (they come back when the word is
    written), error, replace or ignore.
    """
    one_of("bad_utf8", bad_utf8, BAD_UTF8)
    cursor = Cursor(Path(path))
    header = read_header(cursor)
    dictionary = read_dictionary(cursor, header, bad_utf8)
    at = cursor.at
    quantized = cursor.flag("whether the input is quantised")
    if dictionary.pruned is not None and not quantized:
        raise cursor.error(
            at, "there is a prune index, but the input is not quantised: only quantised models can be pruned"
        )
    shape = input_shape(header, dictionary)
    input_matrix: Matrix = (read_quantized if quantized else read_dense)(cursor, shape, "input")
    quantized_output = cursor.flag("whether the output is quantised")
    quantized = quantized and quantized_output
    shape = output_shape(header, dictionary)
    if not (quantized or header.supervised) and cursor.map[cursor.at : cursor.at + 8] == bytes(8):
        shape = (0, header.dim)  # vectors without an output layer
    output_matrix: Matrix = (read_quantized if quantized else read_dense)(cursor, shape, "output")
    if cursor.at < cursor.size:
        raise cursor.error(
            cursor.at,
            f"the model ends here, but the file has {cursor.size - cursor.at} more bytes; it is damaged",
        )
    return FastTextFile(header, dictionary, input_matrix, output_matrix, quantized_output)


def write_fasttext(path: str | Path, file: FastTextFile) -> None:
    """Write a `.bin`, or a `.ftz` if the input matrix is quantised.

    A file that was read is written with the same bytes.
    """
    check_shapes(file)
    if isinstance(file.output_matrix, QuantizedMatrix) != (file.quantized and file.quantized_output):
        raise ConfigError(
            f"quantized_output={file.quantized_output}: it must be True exactly if the output is quantised, "
            "which needs quantised input"
        )
    if file.dictionary.pruned is not None and not file.quantized:
        raise ConfigError(
            "there is a prune index, but the input is not quantised: fastText accepts this only if it is"
        )
    with uploaded(path) as place, replacing(place) as out:
        out.write(file.header.pack())
        out.writelines(dictionary_chunks(file.dictionary))
        for matrix, said in (
            (file.input_matrix, file.quantized),
            (file.output_matrix, file.quantized_output),
        ):
            out.write(bytes([said]))
            out.writelines(
                quantized_chunks(matrix) if isinstance(matrix, QuantizedMatrix) else dense_chunks(matrix)
            )


def read(path: Path, options: Options = ALL) -> Table:
    """Read the words of a model and compose their vectors from rows and n-grams; labels are left out."""
    file = read_fasttext(path)
    rows = options.rows(len(file.dictionary.words))
    check_growth(path, (rows, file.header.dim), file_size(path))  # quantised rows may be small
    counts = file.dictionary.word_counts[:rows]
    words = file.dictionary.words[:rows]
    vectors = _output(path, file, rows) if options.which == "out" else _input(file, words)
    words = treat_bad_utf8(words, path, options.bad_utf8)  # only now: n-grams need the bytes of the file
    return Table(words, vectors, counts if file.dictionary.tokens else None)


def _input(file: FastTextFile, words: list[str]) -> Floats:
    if file.header.subwords.maxn:
        return file.rows().vectors(words)
    # copy the rows bit for bit: a sum would lose -0.0
    return matrix_rows(file.input_matrix, np.arange(len(words)))


def _output(path: Path, file: FastTextFile, rows: int) -> Floats:
    header = file.header
    if (
        header.supervised
        or header.loss == "hs"
        or file.output_matrix.shape != output_shape(header, file.dictionary)
    ):
        raise ConfigError(
            f"which='out': {path}: the {file.output_matrix.shape[0]} output rows of a model {header.model!r} "
            f"with loss {header.loss!r} are not vectors of words; read this model with which='in'"
        )
    return matrix_rows(file.output_matrix, np.arange(rows))


def write(path: Path, table: Table) -> None:
    """Write the vectors as a model without n-grams and without an output layer."""
    none = Subwords(minn=0, maxn=0, buckets=0)
    file = new_file(table.words, table.counts, none, table.vectors, loss="softmax", min_count=1)
    write_fasttext(path, file)
