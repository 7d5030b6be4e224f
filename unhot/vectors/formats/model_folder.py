"""Read and write vectors in unhot's own model folder, as a table or as rows of n-grams.

    in_vectors        float32 [words, dim]: the vectors of the words
    out_vectors       float32 [rows, dim]: output vectors; row i belongs to word i if the config says
                      `"out_rows_are_words": true`; if it says `"tied": true`, they are the in_vectors

A model with n-grams has

    in_vectors        float32 or float16 [rows, dim]: the rows of words and of buckets, in any order
    row_keys          int64 [rows]: >= 0: the row belongs to this bucket; < 0: to the word with id -1 - key
    config.json       minn, maxn, buckets, scheme, hashes: how words are cut; hash_seed, skips and combine
                      if they are not the defaults

A word is the mean of its rows; if `combine` is "sum", it is their sum. Older folders have no `combine`. Other
buckets have no row: they count as zeros, or are left out of the mean if `skips` is true.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.types import Counts
from unhot.vectors.formats.directory import SavedModel, is_model, load_model, save_model
from unhot.vectors.formats.safetensors import Array
from unhot.vectors.formats.table import ALL, Options, Table, treat_bad_utf8
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import FLORET_SEED, Subwords
from unhot.vocab.vocabulary import Vocabulary

ROW_KEYS = "row_keys"
SETTINGS = ("minn", "maxn", "buckets", "scheme", "hashes")
OUT_ROWS_ARE_WORDS = "out_rows_are_words"
# older folders lack this setting: there, the output rows of these layers are nodes or classes, not words
LAYERS_WITHOUT_WORDS = ("hierarchical", "class_based")


def write(path: Path, table: Table) -> None:
    """Write a model folder, or a new version of one, with vectors only: it cannot be trained further."""
    _save(path, table.words, table.counts, {}, {"in_vectors": table.vectors})


def write_rows(path: Path, words: list[str], counts: Counts | None, rows: SubwordRows) -> None:
    """Write a model folder, or a new version of one, with the rows of words and n-grams."""
    keys = rows.keys()
    kept = np.flatnonzero(keys < rows.subwords.buckets)  # the matrix may have rows of other words, too
    whole = isinstance(rows.matrix, np.ndarray) and len(kept) == len(keys)
    matrix: Any = rows.matrix if whole else rows.take(kept)
    config = {name: getattr(rows.subwords, name) for name in SETTINGS}
    config |= {"hash_seed": rows.subwords.seed, "skips": rows.skips, "combine": rows.subwords.combine}
    _save(path, words, counts, config, {"in_vectors": matrix, ROW_KEYS: keys[kept]})


def _save(
    path: Path, words: list[str], counts: Counts | None, config: dict[str, Any], tensors: dict[str, Array]
) -> None:
    if is_model(path) and set(load_model(path).tensors) - {"in_vectors", ROW_KEYS, "counts"}:
        raise DataError(f"{path}: saving only vectors would overwrite a trained model; choose another name")
    # a count of 0 means unknown: most other formats have no counts
    vocabulary = Vocabulary(words, np.zeros(len(words), np.int64) if counts is None else counts)
    save_model(path, {"model": "vectors", **config}, vocabulary, tensors)


def read(path: Path, options: Options = ALL) -> Table:
    """Map the vectors and read the words."""
    return as_table(path, load_model(path), options)


def as_table(path: Path, saved: SavedModel, options: Options) -> Table:
    """Return the vectors of an open model as a table; vectors of n-grams are composed."""
    tied = options.which == "out" and saved.config.get("tied") is True
    name = "in_vectors" if tied else f"{options.which}_vectors"
    if name not in saved.tensors:
        raise FormatError(
            f"{path}: row 0: this model has no vectors of words: the tensor {name!r} is missing; it has "
            f"{', '.join(sorted(saved.tensors))}"
        )
    if name == "out_vectors":
        _check_output(path, saved)
    words, counts = _words(path, saved, options)
    if options.which == "in" and has_ngrams(saved):
        vectors = rows_of(path, saved).vectors(saved.vocabulary.words[: len(words)])
    else:
        vectors = saved.tensors[name][: len(words)]
    return Table(words, vectors, counts)


def has_ngrams(saved: SavedModel) -> bool:
    """Return whether the vectors of a model are composed of n-grams.

    Such a model has the tensor row_keys. It is damaged if only its config says how words are cut.
    """
    return ROW_KEYS in saved.tensors or all(name in saved.config for name in SETTINGS)


def as_rows(path: Path, saved: SavedModel, options: Options) -> tuple[list[str], Counts | None, SubwordRows]:
    """Return the words of a model with n-grams, their counts, and the mapped rows of their parts."""
    words, counts = _words(path, saved, options)
    rows = rows_of(path, saved)
    return words, counts, dataclasses.replace(rows, word_rows=rows.word_rows[: len(words)])


def _words(path: Path, saved: SavedModel, options: Options) -> tuple[list[str], Counts | None]:
    rows = options.rows(len(saved.vocabulary))
    counts = saved.vocabulary.counts[:rows]
    words = treat_bad_utf8(saved.vocabulary.words[:rows], path, options.bad_utf8)
    return words, counts if counts.any() else None


def rows_of(path: Path, saved: SavedModel) -> SubwordRows:
    """Return the rows of an open model with n-grams; raise a `FormatError` if they do not fit together."""
    settings: dict[str, Any] = {name: saved.config.get(name) for name in SETTINGS}
    for name in ("in_vectors", ROW_KEYS):
        if name not in saved.tensors:
            raise FormatError(
                f"{path}: row 0: this model has n-grams, but the tensor {name!r} is missing; it has "
                f"{', '.join(sorted(saved.tensors))}"
            )
    keys, skips = saved.tensors[ROW_KEYS], saved.config.get("skips", False)
    if keys.dtype != np.int64 or keys.ndim != 1 or not isinstance(skips, bool):
        raise FormatError(
            f"{path}: row 0: tensor {ROW_KEYS!r} is {keys.dtype} {keys.shape}, and skips is {skips!r}: they "
            "must be int64 [rows] and a bool"
        )
    words, matrix = saved.vocabulary.words, saved.tensors["in_vectors"]
    try:
        settings |= {"seed": saved.config.get("hash_seed", FLORET_SEED)}
        subwords = Subwords(**settings, combine=saved.config.get("combine", "mean"))
        rows = SubwordRows.of_keys(subwords, matrix, np.asarray(keys), len(words))
    except (ConfigError, DataError) as error:
        raise FormatError(
            f"{path}: row 0: the n-grams do not match the model: {error}; the file is damaged"
        ) from error
    told = subwords.excess(
        np.fromiter(map(len, words), np.int64, len(words)), matrix.nbytes + sum(map(len, words))
    )
    if told is not None:
        raise FormatError(f"{path}: row 0: {told}")
    return dataclasses.replace(rows, skips=skips)


def _check_output(path: Path, saved: SavedModel) -> None:
    """Raise a `ConfigError` unless output row i is the vector of word i."""
    layer = str(saved.config.get("output", "")).partition(":")[0]
    rows, words = len(saved.tensors["out_vectors"]), len(saved.vocabulary)
    said = saved.config.get(OUT_ROWS_ARE_WORDS, layer not in LAYERS_WITHOUT_WORDS)
    if rows != words or not said or saved.out_vocabulary is not None:
        raise ConfigError(
            f"which='out': {path}: the {rows} output rows of layer {layer!r} are not vectors of its {words} "
            "words; read this model with which='in'"
        )
