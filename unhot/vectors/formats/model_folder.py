"""unhot's own model folder as a table.

The input vectors of its words, or the output vectors where these are words, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors.formats.directory import SavedModel, is_model, load_model, save_model
from unhot.vectors.formats.table import ALL, Options, Table, check_table, treat_bad_utf8
from unhot.vocab.vocabulary import Vocabulary

NOT_WORDS = ("hierarchical", "class_based")  # layers whose output rows are nodes and classes


def write(path: Path, table: Table) -> dict[str, str]:
    """Write a model folder, or a new version of one, that has vectors and nothing to train on with."""
    check_table(table)
    check_replaceable(path)
    # 0 = not counted: the formats of others know no counts
    counts = np.zeros(len(table.words), np.int64) if table.counts is None else table.counts
    save_model(path, {"model": "vectors"}, Vocabulary(table.words, counts), {"in_vectors": table.vectors})
    return {}


def check_replaceable(path: Path) -> None:
    """Raise a `DataError` if a model is there that has more than vectors."""
    if is_model(path) and set(load_model(path).tensors) - {"in_vectors", "row_keys", "counts"}:
        raise DataError(f"{path}: is a trained model, which vectors alone would replace; choose another name")


def read(path: Path, options: Options = ALL) -> Table:
    """Map the vectors, read the words."""
    saved = load_model(path)
    name = f"{options.which}_vectors"
    if name not in saved.tensors:
        raise FormatError(
            f"{path}: row 0: this model has no tensor {name!r}; it has {', '.join(sorted(saved.tensors))}"
        )
    if options.which == "out":
        _check_output(path, saved)
    rows = options.rows(len(saved.vocabulary))
    vectors = saved.tensors[name][:rows]
    if options.which == "in" and (has_ngrams(saved.config) or "row_keys" in saved.tensors):
        from unhot.vectors.formats.ngram_folder import rows_of  # needs the compiler

        vectors = rows_of(path, saved).vectors(saved.vocabulary.words[:rows])
    words = treat_bad_utf8(saved.vocabulary.words[:rows], path, options.bad_utf8)
    counts = saved.vocabulary.counts[:rows]
    return Table(words, vectors, counts if counts.any() else None)


def has_ngrams(config: dict[str, Any]) -> bool:
    """Whether the words of a model are made of n-grams, by its config."""
    return "buckets" in config


def _check_output(path: Path, saved: SavedModel) -> None:
    layer = str(saved.config.get("output", "")).partition(":")[0]
    rows, words = len(saved.tensors["out_vectors"]), len(saved.vocabulary)
    if rows != words or layer in NOT_WORDS:
        what = f"the {rows} output rows of layer {layer!r} do not stand for its {words} words"
        raise ConfigError(f"which='out': {path}: {what}; only which='in' can be read from this model")
