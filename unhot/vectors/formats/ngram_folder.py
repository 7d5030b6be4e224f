"""The part of unhot's own folder that only models with n-grams have.

    config.json            minn, maxn, buckets, scheme, hashes: how words are cut; hash_seed, skips where they
                           are not the usual ones
    in_vectors             float32 or float16 [rows, dim]: the rows of words and of buckets, in any order
    row_keys               int64 [rows]: >= 0: the row is that bucket's; < 0: that of the word with id -1 -
                           key

Buckets that are not there have no row: they are zeros, or left out of the mean if `skips` is true.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.types import Counts
from unhot.vectors.formats.directory import SavedModel, load_model, save_model
from unhot.vectors.formats.model_folder import check_replaceable
from unhot.vectors.formats.table import Options, treat_bad_utf8
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import FLORET_SEED, Subwords
from unhot.vocab.vocabulary import Vocabulary

ROW_KEYS = "row_keys"
SETTINGS = ("minn", "maxn", "buckets", "scheme", "hashes")


def read_rows(path: Path, options: Options) -> tuple[list[str], Counts | None, SubwordRows]:
    """The words, their counts and the parts of their vectors, mapped."""
    saved = load_model(path)
    kept = options.rows(len(saved.vocabulary))
    words = treat_bad_utf8(saved.vocabulary.words[:kept], path, options.bad_utf8)
    counts = saved.vocabulary.counts[:kept]
    return words, counts if counts.any() else None, rows_of(path, saved).first_words(kept)


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
    try:
        subwords = Subwords(**settings, seed=saved.config.get("hash_seed", FLORET_SEED))
        rows = SubwordRows.of_keys(
            subwords, saved.tensors["in_vectors"], np.asarray(keys), len(saved.vocabulary)
        )
    except (ConfigError, DataError) as error:
        raise FormatError(
            f"{path}: row 0: the n-grams do not fit the model: {error}; the file is damaged"
        ) from error
    words = saved.vocabulary.words
    told = subwords.excess(
        np.fromiter(map(len, words), np.int64, len(words)),
        saved.tensors["in_vectors"].nbytes + sum(map(len, words)),
    )
    if told is not None:
        raise FormatError(f"{path}: row 0: {told}")
    return dataclasses.replace(rows, skips=skips)


def write_rows(path: Path, words: list[str], counts: Counts | None, rows: SubwordRows) -> None:
    """Write a folder that has vectors and n-grams, and nothing to train on with."""
    check_replaceable(path)
    keys = rows.keys()
    kept = np.flatnonzero(keys < rows.subwords.buckets)  # of a matrix that has rows of other words, too
    matrix = (
        rows.matrix if isinstance(rows.matrix, np.ndarray) and len(kept) == len(keys) else rows.take(kept)
    )
    cut = rows.subwords
    config = {
        "model": "vectors",
        **{name: getattr(cut, name) for name in SETTINGS},
        "hash_seed": cut.seed,
        "skips": rows.skips,
    }
    # 0 = not counted
    vocabulary = Vocabulary(words, np.zeros(len(words), np.int64) if counts is None else counts)
    save_model(path, config, vocabulary, {"in_vectors": matrix, ROW_KEYS: keys[kept]})
