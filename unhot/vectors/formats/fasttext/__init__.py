"""fastText's own files: `.bin`, and `.ftz` with product-quantised matrices; all of it, byte for byte.

All numbers are little-endian. In this order:

    int32 793712314, int32 version      the signature                                header.py
    12 int32, double                    the settings of the training                 header.py
    counts, entries, prune index        words, labels, n-grams that were kept        dictionary.py
    bool, matrix                        input rows: one a word, one a bucket         matrix.py, quantized.py
    bool, matrix                        output rows: one a word, or one a label

A file is memory-mapped: what is not asked for is not read. Every size is checked against the bytes that are
there before it is used.
"""

from unhot.vectors.formats.fasttext.dictionary import Dictionary, Pruned
from unhot.vectors.formats.fasttext.header import Header
from unhot.vectors.formats.fasttext.matrix import RowBlocks
from unhot.vectors.formats.fasttext.model_file import FastTextFile, new_file, read_fasttext, write_fasttext
from unhot.vectors.formats.fasttext.quantized import QuantizedMatrix

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
