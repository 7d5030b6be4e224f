"""The vectors in unhot's own model folder: as a table, or as the rows of n-grams that they are made of.

    in_vectors        float32 [words, dim]: the vectors of words
    out_vectors       float32 [rows, dim]: they are those of words, too, if the config says
                      `"out_rows_are_words": true`

A model with n-grams has

    in_vectors        float32 or float16 [rows, dim]: the rows of words and of buckets, in any order
    row_keys          int64 [rows]: >= 0: the row is that bucket's; < 0: that of the word with id -1 - key
    config.json       minn, maxn, buckets, scheme, hashes: how words are cut; hash_seed, skips where they are
                      not the usual ones

Buckets that are not there have no row: they are zeros, or left out of the mean if `skips` is true.
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
# of folders that do not say it, which are older: the layers whose output rows are nodes and classes
LAYERS_WITHOUT_WORDS = ("hierarchical", "class_based")


def write(path: Path, table: Table) -> None:
    """Write a model folder, or a new version of one, that has vectors and nothing to train on with."""
    _save(path, table.words, table.counts, {}, {"in_vectors": table.vectors})


def write_rows(path: Path, words: list[str], counts: Counts | None, rows: SubwordRows) -> None:
    """The same with the rows of n-grams."""
    keys = rows.keys()
    kept = np.flatnonzero(keys < rows.subwords.buckets)  # of a matrix that has rows of other words, too
    whole = isinstance(rows.matrix, np.ndarray) and len(kept) == len(keys)
    matrix: Any = rows.matrix if whole else rows.take(kept)
    config = {name: getattr(rows.subwords, name) for name in SETTINGS}
    config |= {"hash_seed": rows.subwords.seed, "skips": rows.skips}
    _save(path, words, counts, config, {"in_vectors": matrix, ROW_KEYS: keys[kept]})


def _save(
    path: Path, words: list[str], counts: Counts | None, config: dict[str, Any], tensors: dict[str, Array]
) -> None:
    if is_model(path) and set(load_model(path).tensors) - {"in_vectors", ROW_KEYS, "counts"}:
        raise DataError(f"{path}: is a trained model, which vectors alone would replace; choose another name")
    # 0 = not counted: the formats of others know no counts
    vocabulary = Vocabulary(words, np.zeros(len(words), np.int64) if counts is None else counts)
    save_model(path, {"model": "vectors", **config}, vocabulary, tensors)


def read(path: Path, options: Options = ALL) -> Table:
    """Map the vectors, read the words."""
    return as_table(path, load_model(path), options)


def as_table(path: Path, saved: SavedModel, options: Options) -> Table:
    """The vectors of a model that is open; those made of n-grams are composed."""
    name = f"{options.which}_vectors"
    if name not in saved.tensors:
        raise FormatError(
            f"{path}: row 0: this model has no vectors of words: it has no tensor {name!r}, but "
            f"{', '.join(sorted(saved.tensors))}"
        )
    if options.which == "out":
        _check_output(path, saved)
    words, counts = _words(path, saved, options)
    if options.which == "in" and has_ngrams(saved):
        vectors = rows_of(path, saved).vectors(saved.vocabulary.words[: len(words)])
    else:
        vectors = saved.tensors[name][: len(words)]
    return Table(words, vectors, counts)


def has_ngrams(saved: SavedModel) -> bool:
    """Whether the words of a model are made of n-grams.

    Its rows have keys then. Without these, one whose config says how words are cut is damaged.
    """
    return ROW_KEYS in saved.tensors or all(name in saved.config for name in SETTINGS)


def as_rows(path: Path, saved: SavedModel, options: Options) -> tuple[list[str], Counts | None, SubwordRows]:
    """The words of a model with n-grams, their counts and the parts of their vectors, mapped."""
    words, counts = _words(path, saved, options)
    rows = rows_of(path, saved)
    return words, counts, dataclasses.replace(rows, word_rows=rows.word_rows[: len(words)])


def _words(path: Path, saved: SavedModel, options: Options) -> tuple[list[str], Counts | None]:
    rows = options.rows(len(saved.vocabulary))
    counts = saved.vocabulary.counts[:rows]
    words = treat_bad_utf8(saved.vocabulary.words[:rows], path, options.bad_utf8)
    return words, counts if counts.any() else None


def rows_of(path: Path, saved: SavedModel) -> SubwordRows:
    """The parts of all words of a model that is open; a `FormatError` unless they fit together."""
    settings: dict[str, Any] = {name: saved.config.get(name) for name in SETTINGS}
    for name in ("in_vectors", ROW_KEYS):
        if name not in saved.tensors:
            raise FormatError(
                f"{path}: row 0: this model has n-grams, but no tensor {name!r}; it has "
                f"{', '.join(sorted(saved.tensors))}"
            )
    keys, skips = saved.tensors[ROW_KEYS], saved.config.get("skips", False)
    if keys.dtype != np.int64 or keys.ndim != 1 or not isinstance(skips, bool):
        raise FormatError(
            f"{path}: row 0: tensor {ROW_KEYS!r} is {keys.dtype} {keys.shape}, skips {skips!r}: must be "
            "int64 [rows], a bool"
        )
    words, matrix = saved.vocabulary.words, saved.tensors["in_vectors"]
    try:
        subwords = Subwords(**settings, seed=saved.config.get("hash_seed", FLORET_SEED))
        rows = SubwordRows.of_keys(subwords, matrix, np.asarray(keys), len(words))
    except (ConfigError, DataError) as error:
        raise FormatError(
            f"{path}: row 0: the n-grams do not fit the model: {error}; the file is damaged"
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
            f"which='out': {path}: the {rows} output rows of layer {layer!r} do not stand for its {words} "
            "words; only which='in' can be read from this model"
        )
