"""`train_unsupervised` with fastText's parameters, implemented by `unhot.models.fasttext.FastText`."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from unhot.compat.fasttext.model import FastText
from unhot.compat.fasttext.model_parts import LONG_MODELS, Parts
from unhot.compat.fasttext.settings import RENAMED, Unsupervised, check_autotune, reworded
from unhot.errors import ConfigError, DataError
from unhot.types import Floats
from unhot.vectors.formats.fasttext import Dictionary, Header
from unhot.vectors.formats.fasttext.header import MOST
from unhot.vectors.store import Vectors

if TYPE_CHECKING:
    from unhot.models import fasttext as models

T = TypeVar("T")
logger = logging.getLogger("unhot")
SHORT_LOSSES = {"one-vs-all": "ova"}
SHORT_MODELS = {long: short for short, long in LONG_MODELS.items()}


def with_old_names(function: Callable[..., T]) -> Callable[..., T]:
    """Let a function also accept parameter names of fastText's first Python module."""

    @functools.wraps(function)
    def renaming(*arguments: Any, **parameters: Any) -> T:
        for old in RENAMED.keys() & parameters.keys():
            if RENAMED[old] in parameters:
                raise TypeError(f"{function.__name__}() got multiple values for argument {RENAMED[old]!r}")
            parameters[RENAMED[old]] = parameters.pop(old)
        return function(*arguments, **parameters)

    return renaming


@with_old_names
def train_unsupervised(
    input: str | os.PathLike[str],
    model: str = "skipgram",
    lr: float = 0.05,
    dim: int = 100,
    ws: int = 5,
    epoch: int = 5,
    minCount: int = 5,
    minCountLabel: int = 0,
    minn: int = 3,
    maxn: int = 6,
    neg: int = 5,
    wordNgrams: int = 1,
    loss: str = "ns",
    bucket: int = 2_000_000,
    thread: int | None = None,
    lrUpdateRate: int = 100,
    t: float = 1e-4,
    label: str = "__label__",
    verbose: int = 2,
    pretrainedVectors: str | os.PathLike[str] = "",
    *,
    seed: int = 0,
    autotuneValidationFile: str = "",
    autotuneMetric: str = "f1",
    autotunePredictions: int = 1,
    autotuneDuration: int = 300,
    autotuneModelSize: str = "",
    force: bool = False,
) -> FastText:
    """Train word vectors on a file, a folder, a pattern, or standard input (`-`), and return the model.

    `verbose` is ignored: progress is logged by the logger `unhot`. `force`, which fastText does not have,
    reads files even if they do not look like text.
    """
    check_autotune(autotuneValidationFile=autotuneValidationFile)
    if not isinstance(input, (str, os.PathLike)):
        raise ConfigError(
            f"input has type {type(input).__name__}: it must be a path; "
            "to train on sentences, use unhot.models.fasttext.FastText"
        )
    given = Unsupervised(
        model=model,
        lr=lr,
        dim=dim,
        ws=ws,
        epoch=epoch,
        minCount=minCount,
        minCountLabel=minCountLabel,
        minn=minn,
        maxn=maxn,
        neg=neg,
        wordNgrams=wordNgrams,
        loss=loss,
        bucket=bucket,
        # as in fastText's Python module: all processors but one
        thread=max(1, (os.cpu_count() or 1) - 1) if thread is None else thread,
        lrUpdateRate=lrUpdateRate,
        t=t,
        label=label,
        verbose=verbose,
        pretrainedVectors=os.fspath(pretrainedVectors),
        seed=seed,
    )
    for note in given.notes():
        logger.warning(note)
    front = FastText(trained_parts(learned(os.fspath(input), given, force=force), given))
    for name, value in given._asdict().items():  # parameters become attributes, as in fastText
        setattr(front, name, value)
    return front


def learned(source: str, given: Unsupervised, **reading: Any) -> models.FastText:
    """Train an unhot model and return it; `reading` is passed to its `fit`."""
    from unhot.models.fasttext import FastText

    model = FastText(**given.settings())
    start = Vectors.load(Path(given.pretrainedVectors)) if given.pretrainedVectors else None
    try:
        return model.fit(source, start=start, **reading)
    except DataError as error:
        raise DataError(reworded(str(error))) from error


def trained_parts(model: models.FastText, given: Unsupervised) -> Parts:
    """Return the parts of a model that was trained with fastText's parameters.

    The header holds the values that were used, as in the file that would be written.
    """
    header = Header(
        dim=model.dim,
        ws=model.window,
        epoch=model.epochs,
        min_count=min(model.min_count, MOST),
        neg=getattr(model.layer, "k", 0),
        loss=SHORT_LOSSES.get(given.loss, given.loss),
        model=SHORT_MODELS[given.model],
        bucket=model.buckets,
        minn=model.minn,
        maxn=model.maxn,
        t=model.sample,
    )
    vocabulary = model.learned.in_vocabulary
    dictionary = Dictionary(
        words=vocabulary.words,
        word_counts=vocabulary.counts,
        labels=[],
        label_counts=np.zeros(0, np.int64),
        tokens=int(vocabulary.counts.sum()),
    )
    return Parts(header, dictionary, model.vectors.rows, _output_rows(model), model.save_fasttext)


def _output_rows(model: models.FastText) -> Floats:
    """Return the output rows in fastText's form.

    The rows of a Huffman tree are ordered by when their node was joined. Their sign is reversed, because in
    fastText a positive score means right. A row of zeros follows them.
    """
    rows = model.learned.params.out_vectors
    if model.layer.rows_are_words:
        return rows
    from unhot.tree.huffman import word2vec_tree

    _, joins = word2vec_tree(model.learned.out_vocabulary.counts)
    return np.concatenate([-rows[joins], np.zeros((1, model.dim), np.float32)])


def train_supervised(*arguments: Any, **parameters: Any) -> NoReturn:
    """Raise a `ConfigError`: unhot reads classifiers and predicts with them, but cannot train them yet."""
    raise ConfigError(
        "train_supervised: unhot does not train classifiers yet; "
        "train one with fastText and open it with load_model"
    )
