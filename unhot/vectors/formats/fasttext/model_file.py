"""All that a fastText file holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.types import Floats, Ids, Starts
from unhot.vectors.formats.fasttext.dictionary import Dictionary
from unhot.vectors.formats.fasttext.header import Header
from unhot.vectors.formats.fasttext.matrix import RowBlocks
from unhot.vectors.formats.fasttext.quantized import QuantizedMatrix
from unhot.vectors.formats.table import checked_counts
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords

Matrix: TypeAlias = Floats | QuantizedMatrix | RowBlocks  # RowBlocks: to be written only
UNREAD = "these rows come in blocks, to be written only: read the file that they are in"


class FastTextFile(NamedTuple):
    """A model: settings, words and labels, input and output rows."""

    header: Header
    dictionary: Dictionary
    input_matrix: Matrix  # [words + buckets, dim], or [words + n-grams kept, dim]
    output_matrix: Matrix  # [words, dim], supervised [labels, dim]; no rows: vectors without an output layer
    # what the file says; to fastText it counts only where the input is quantised
    quantized_output: bool = False

    @property
    def quantized(self) -> bool:
        """Whether this is an .ftz."""
        return isinstance(self.input_matrix, QuantizedMatrix)

    def rows(self) -> SubwordRows:
        """Where the parts of words' vectors are.

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
    """Some rows of a matrix that is there."""
    if isinstance(matrix, RowBlocks):
        raise ConfigError(UNREAD)
    if isinstance(matrix, QuantizedMatrix):
        return matrix.rows(ids)
    return np.ascontiguousarray(matrix[ids], np.float32)


def input_shape(header: Header, dictionary: Dictionary) -> tuple[int, int]:
    """The rows and columns that the input matrix has."""
    kept = header.bucket if dictionary.pruned is None else len(dictionary.pruned.buckets)
    return len(dictionary.words) + kept, header.dim


def output_shape(header: Header, dictionary: Dictionary) -> tuple[int, int]:
    """The rows and columns that the output matrix has."""
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
    """A model from its pieces, without labels.

    `input_matrix` has the rows of all words and then of all buckets; `tokens` is the size of the text where
    that is more than the sum of the counts; `fields` are those of `Header`. Where nobody counted, the file
    says so by 0 tokens, and all counts are 1: gensim drops words with count 0.
    """
    if subwords.scheme != "fasttext":
        raise ConfigError(
            f"scheme={subwords.scheme}: fastText's files know fastText's own only; write a .floret table"
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
    """Raise a `DataError` unless the matrices have a row for everything."""
    wanted = input_shape(file.header, file.dictionary)
    if file.input_matrix.shape != wanted:
        raise DataError(
            f"input rows {file.input_matrix.shape}: {wanted} are needed, one for each word and each bucket"
        )
    wanted = output_shape(file.header, file.dictionary)
    none = (0, file.header.dim)
    if file.output_matrix.shape != wanted and (file.header.supervised or file.output_matrix.shape != none):
        raise DataError(
            f"output rows {file.output_matrix.shape}: {wanted} are needed, one for each word, or label of a "
            "supervised model"
        )
