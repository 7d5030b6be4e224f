"""Read and write one safetensors file with words and vectors.

    vectors     float32 [words, dim]
    words       uint8: the text of vocab.txt
    counts      int64 [words], if known

Files of other programs can be read if they have a matrix named `vectors`, `embeddings` or `embedding.weight`
(float16, bfloat16, float32 or float64), and the words in a tensor `words` or in a file `X.words.txt` beside.
"""

from pathlib import Path

import numpy as np

from unhot.atomic import replacing
from unhot.errors import FormatError
from unhot.types import Counts, Floats
from unhot.vectors.formats.npy import as_float32, parse_words, words_path
from unhot.vectors.formats.safetensors import Array, TensorPlace, map_tensor, read_entries, write_safetensors
from unhot.vectors.formats.table import ALL, Options, Table, file_size
from unhot.vocab.vocabulary import words_text

MATRICES = ("vectors", "embeddings", "embedding.weight")
FLOATS = ("F16", "BF16", "F32", "F64")


def write(path: Path, table: Table) -> None:
    """Write the file."""
    tensors: dict[str, Array] = {
        "vectors": table.vectors,
        "words": np.frombuffer(words_text(table.words), np.uint8),
    }
    if table.counts is not None:
        tensors["counts"] = table.counts
    with replacing(path) as file:
        write_safetensors(file, tensors)


def read(path: Path, options: Options = ALL) -> Table:
    """Map the matrix, and read its words and counts."""
    file_size(path)
    entries = read_entries(path)
    entry = find_matrix(path, entries)
    announced = entry.shape[0]
    rows = options.rows(announced)
    words = _words(path, entries, options, announced)
    return Table(words, map_matrix(path, entry, rows), _counts(path, entries, announced, rows))


def find_matrix(path: Path, entries: dict[str, TensorPlace]) -> TensorPlace:
    """Return the tensor that holds the vectors; raise a `FormatError` if there is none."""
    name = next((name for name in MATRICES if name in entries), None)
    if name is None:
        found = ", ".join(sorted(entries)[:10])
        raise FormatError(
            f"{path}: byte 8: no tensor is named {', '.join(MATRICES)}; the header has: {found}"
        )
    entry = entries[name]
    if entry.dtype not in FLOATS or len(entry.shape) != 2 or entry.shape[1] < 1:
        raise FormatError(
            f"{path}: byte 8: tensor {name!r} is {entry.dtype} {list(entry.shape)}: it must be floats "
            "[rows, dim]"
        )
    return entry


def map_matrix(path: Path, entry: TensorPlace, rows: int) -> Floats:
    """Return the first rows as float32; they are mapped if the file holds float32."""
    matrix = map_tensor(path, entry)[:rows]
    if entry.dtype == "BF16":  # the upper half of a float32
        return (matrix.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return as_float32(matrix)


def _words(path: Path, entries: dict[str, TensorPlace], options: Options, announced: int) -> list[str]:
    entry = entries.get("words")
    if entry is not None:
        if entry.dtype != "U8" or len(entry.shape) != 1:
            raise FormatError(
                f"{path}: byte 8: tensor 'words' is {entry.dtype} {list(entry.shape)}: it must be U8 [bytes]"
            )
        return parse_words(map_tensor(path, entry).tobytes(), path, entry.begin, options, announced)
    names = words_path(path)
    if not names.is_file():
        raise FormatError(
            f"{path}: byte 8: there is neither a tensor 'words' nor a file {names}; write the words into "
            "this file, one per line"
        )
    return parse_words(names.read_bytes(), names, 0, options, announced)


def _counts(path: Path, entries: dict[str, TensorPlace], announced: int, rows: int) -> Counts | None:
    entry = entries.get("counts")
    if entry is None:
        return None
    if entry.dtype != "I64" or entry.shape != (announced,):
        raise FormatError(
            f"{path}: byte 8: tensor 'counts' is {entry.dtype} {list(entry.shape)}: it must be I64 "
            f"[{announced}]"
        )
    counts = np.array(map_tensor(path, entry)[:rows])
    if rows and counts.min() < 0:
        raise FormatError(f"{path}: byte {entry.begin}: a count is {counts.min()}: counts must be >= 0")
    return counts
