"""Write a fasttext model as fastText's own .bin file, and read it back.

| fastText's loss | output layer | output rows |
|---|---|---|
| ns | negative:k=NEG,power=0.5 | words |
| softmax | softmax | words |
| ova | one_vs_all | words |
| hs | hierarchical:tree=word2vec | inner nodes in the order of fastText's joins, then one row of zeros |

A node of fastText scores the step to the right child, a node of unhot the step to the left, so the rows
change sign. A model with any other output layer is written without output rows; fastText can still read its
vectors. So is a model with combine=sum: its output rows belong to sums, and fastText would multiply them with
means. For negative sampling the file holds k but not the power of the noise, which is 0.5 in fastText.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from unhot.errors import ConfigError
from unhot.kernels.loop import Params
from unhot.models.learned_words import LearnedWords
from unhot.outputs import parse_output
from unhot.outputs.layer import Biases
from unhot.tree.huffman import word2vec_tree
from unhot.types import Floats
from unhot.vectors.formats.fasttext import FastTextFile, RowBlocks, new_file, read_fasttext, write_fasttext
from unhot.vectors.subword_vectors import SubwordVectors, warn_of_means
from unhot.vocab.vocabulary import Vocabulary

logger = logging.getLogger("unhot")
LOSSES = {"negative": "ns", "softmax": "softmax", "one_vs_all": "ova", "hierarchical": "hs"}
LAYERS = {
    "ns": "negative:k={neg},power=0.5",
    "softmax": "softmax",
    "ova": "one_vs_all",
    "hs": "hierarchical:tree=word2vec",
}
NODES = "word2vec"  # the kind of Huffman tree that fastText uses
BLOCK = 1 << 14  # rows written at a time


def write_model(
    path: str | os.PathLike[str], vectors: SubwordVectors, learned: LearnedWords, config: dict[str, Any]
) -> None:
    """Write the rows and the settings of a model as a .bin file."""
    layer = learned.layer
    loss = (
        None
        if getattr(layer, "tree", NODES) != NODES or layer.biases() != Biases()
        else LOSSES.get(layer.name)
    )
    if vectors.subwords.combine == "sum":
        loss = None
        logger.warning(
            "%s: fastText's words are means, not sums: the file holds vectors and n-grams but no output rows",
            path,
        )
    elif loss is None:
        logger.warning(
            "%s: fastText has no layer %s: the file holds vectors and n-grams but no output rows",
            path,
            layer.spec(),
        )
    elif layer != parse_output(LAYERS[loss].format(neg=layer.draws())):
        logger.info(
            "%s: fastText's format cannot hold all settings of %s; reading the file back gives %s",
            path,
            layer.spec(),
            LAYERS[loss],
        )
    words, dim = len(learned.in_vocabulary), learned.params.in_vectors.shape[1]
    file = new_file(
        learned.in_vocabulary.words,
        learned.in_vocabulary.counts,
        vectors.subwords,
        RowBlocks((words + vectors.subwords.buckets, dim), vectors.rows.expanded()),
        None if loss is None else RowBlocks((words, dim), _output_rows(learned, words)),
        ws=config["window"],
        epoch=config["epochs"],
        min_count=min(config["min_count"], 2**31 - 1),
        neg=layer.draws(),
        loss=loss or "softmax",
        model="sg" if config["architecture"] == "skipgram" else "cbow",
        t=config["sample"],
    )
    write_fasttext(Path(path), file)
    warn_of_means(path, "fasttext", vectors.rows)


def _output_rows(learned: LearnedWords, words: int) -> Iterator[Floats]:
    """Yield the output rows in blocks: one for each word, or with hs one for each join and one of zeros."""
    rows, layer = learned.params.out_vectors, learned.layer
    places, sign = np.arange(words, dtype=np.int32), np.float32(1.0)
    if layer.name == "hierarchical":
        places, sign = word2vec_tree(learned.in_vocabulary.counts)[1], np.float32(-1.0)
    for first in range(0, words, BLOCK):
        block = np.zeros((min(BLOCK, words - first), rows.shape[1]), np.float32)
        there = places[first : first + BLOCK]
        block[: len(there)] = sign * rows[there]
        yield block


def _from_joins(rows: Floats, vocabulary: Vocabulary) -> Floats:
    """Return the rows of tree nodes, from the order of `_output_rows` back to unhot's order and signs."""
    places = word2vec_tree(vocabulary.counts)[1]
    out = np.zeros((max(1, places.size), rows.shape[1]), np.float32)
    out[places] = -rows[: places.size]
    return out


def holds_model(path: str | os.PathLike[str]) -> bool:
    """Return whether `read_model` can read this fastText file."""
    file = read_fasttext(Path(path))
    return not (file.header.supervised or file.quantized) and file.output_matrix.shape[0] > 0


def read_model(path: str | os.PathLike[str], file: FastTextFile) -> tuple[dict[str, Any], LearnedWords]:
    """Return the settings of a fastText file and its memory-mapped rows."""
    header, dictionary = file.header, file.dictionary
    if header.supervised or file.quantized:
        what = "a classifier" if header.supervised else "quantised"
        raise ConfigError(
            f"{path}: is {what}: open it with unhot.compat.fasttext.load_model, or its vectors with "
            "Vectors.load"
        )
    if len(cast(Floats, file.output_matrix)) == 0:
        raise ConfigError(
            f"{path}: has no output rows, so it is not a whole model: open its vectors with Vectors.load"
        )
    output = LAYERS[header.loss].format(neg=max(1, header.neg))
    subwords, vocabulary = file.header.subwords, Vocabulary(dictionary.words, dictionary.word_counts)
    layer, out_vectors = parse_output(output), cast(Floats, file.output_matrix)
    out_vectors = _from_joins(out_vectors, vocabulary) if header.loss == "hs" else out_vectors
    params = Params(
        cast(Floats, file.input_matrix), out_vectors, *(np.zeros(0, np.float32) for _ in range(3))
    )
    keys = np.concatenate([-1 - np.arange(len(vocabulary)), np.arange(subwords.buckets)])
    settings = {
        "architecture": "cbow" if header.model == "cbow" else "skipgram",
        "dim": header.dim,
        "window": max(1, header.ws),
        "epochs": max(1, header.epoch),
        "min_count": max(1, header.min_count),
        "minn": subwords.minn,
        "maxn": subwords.maxn,
        "buckets": subwords.buckets,
        "sample": header.t,
        "output": output,
    }
    learned = LearnedWords(
        layer=layer,
        in_vocabulary=vocabulary,
        out_vocabulary=vocabulary,
        params=params,
        seen=np.zeros(0, np.int64),
        frozen=np.zeros(0, np.uint8),
        keys=keys,
    )
    return settings, learned
