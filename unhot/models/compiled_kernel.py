"""From a model's settings and a text's counts to what the trainer needs.

The kernel, the sizes of the params, the memory plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError
from unhot.kernels.bags import Bags
from unhot.kernels.columns import candidates
from unhot.kernels.loop import Room, scratch_bytes
from unhot.kernels.simd.tiles import shape
from unhot.kernels.steps import All, link, step_shape, tile_shape
from unhot.kernels.windows import Window
from unhot.models.ngram_rows import InputRows
from unhot.train.good_state import kept_in_memory
from unhot.train.hogwild import Kernel
from unhot.train.hot_rows import hot_rows
from unhot.train.params import HotSizes, Sizes, padded
from unhot.train.schedule import chunk_size, pieces
from unhot.types import Counts

if TYPE_CHECKING:
    from unhot.models.word_model import WordModel


def make_kernel(model: WordModel, counts: Counts | None, bags: Bags | None = None) -> Kernel:
    """For a vocabulary of such counts, and for words made of such rows.

    None: not known yet, enough to compile.
    """
    layer, stride = model.layer, padded(model.dim)
    layer.check_compiled()
    tables = layer.sketch() if counts is None else layer.tables(counts)
    for needed in (candidates, link):
        if not needed.knows(type(tables)):
            name = needed.__name__  # type: ignore[attr-defined]
            raise ConfigError(
                f"{layer.name}: {name} is not registered for its {type(tables).__name__}; a layer needs both"
            )
    columns = (
        1
        if counts is None
        else layer.columns(counts, model.targets()) + (model.rounds() - 1) * layer.set_of_draws()
    )
    rows = 1 if counts is None else layer.rows(counts)
    fixed = layer.fixed_columns() if model.targets() == 1 else None
    step = All(shape(stride, 1, 1), rows) if layer.all_rows else step_shape(stride, fixed, model.inputs())
    bag = 0 if bags is None else model.bag(bags)
    room = Room(
        columns, len(tile_shape(step).width), rows if layer.all_rows else columns, model.inputs(), bag
    )
    return Kernel(model.step(bags), step, tables, layer.fresh, Window(model.window, model.shrink), room)


def make_sizes(model: WordModel, corpus: Corpus, kernel: Kernel, inputs: int, freezes: bool) -> Sizes:
    """How many rows there are, with those of the threads, for an input of so many."""
    counts, layer = corpus.vocabulary.counts, model.layer
    # more would have nothing to do
    threads = min(model.threads, len(pieces(corpus.shards, kernel.room.scored)))
    rows = layer.rows(counts)
    hot = HotSizes(hot_rows(inputs, threads), 0 if layer.all_rows else hot_rows(rows, threads))
    return Sizes(inputs, rows, layer.biases(), hot, 2 * model.window if freezes else 0, threads)


def memory_plan(
    model: WordModel, corpus: Corpus, kernel: Kernel, sizes: Sizes, inputs: InputRows | None
) -> dict[str, int]:
    """Bytes by purpose."""
    row = padded(model.dim) * (2 if model.begins().half else 4)
    used = 0 if inputs is None else int(np.count_nonzero(inputs.keys >= 0))
    vectors, ngrams = row * (sizes.in_rows - used) + 4 * padded(model.dim) * sizes.out_rows, row * used
    tokens = chunk_size(corpus.ids, kernel.room.scored)
    buffers = sizes.threads * scratch_bytes(tokens, model.window, kernel.room, padded(model.dim))
    tables = sum(array.nbytes for array in kernel.tables if isinstance(array, np.ndarray))
    plan = {"vectors": vectors}
    if inputs is not None:
        plan[f"rows of {used:,} n-gram buckets"] = ngrams
        plan["n-grams of words"] = inputs.bags.rows.nbytes + inputs.bags.starts.nbytes
    return plan | {
        "their last good state": kept_in_memory(vectors + ngrams),
        "tables": tables,
        "buffers": buffers,
    }
