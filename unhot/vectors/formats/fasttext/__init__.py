"""Read and write fastText's own files, byte for byte: `.bin`, and `.ftz` with product-quantised matrices.

All numbers are little-endian. In this order:

    int32 793712314, int32 version      the signature                                header.py
    12 int32, double                    the settings of the training                 header.py
    counts, entries, prune index        words, labels, n-grams that were kept        dictionary.py
    bool, matrix                        input rows: one per word, one per bucket     matrices.py
    bool, matrix                        output rows: one per word, or one per label

A file is memory-mapped, so unused parts are not read. Every size is checked against the size of the file
before it is used.
"""

from unhot.vectors.formats.fasttext.dictionary import Dictionary, Pruned
from unhot.vectors.formats.fasttext.header import Header
from unhot.vectors.formats.fasttext.matrices import QuantizedMatrix, RowBlocks
from unhot.vectors.formats.fasttext.model_file import FastTextFile, new_file, read_fasttext, write_fasttext

__all__ = [
    "Dictionary",
    "FastTextFile",
    "Header",
    "Pruned",
    "QuantizedMatrix",
    "RowBlocks",
    "new_file",
    "read_fasttext",
    "write_fasttext",
]
