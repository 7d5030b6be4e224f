"""Readers of trained models: every kind of model, finished, cut off, and with a checkpoint inside."""

from __future__ import annotations

import contextlib
import functools
import random
from pathlib import Path
from typing import Any

import numpy as np

import unhot
from readers.reader import MEGABYTE, Files, Reader, files_below
from readers.subword_seeds import GOLDEN, special_fasttext
from readers.vector_files import ask
from unhot.compat import fasttext
from unhot.compat.gensim.models.word2vec import Word2Vec
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.errors import Diverged
from unhot.models.classifier import Classifier
from unhot.models.fields import EpochFields
from unhot.models.load import (
    all_models,
    holds_finished,
    holds_unfinished,
    is_trained,
    load_unfinished,
    load_words,
)
from unhot.models.word_model import WordModel
from unhot.train.progress import Progress
from unhot.vectors.formats.directory import load_model

TEXT = [["the", "cat", "sat", "on", "the", "mat"], ["caf\u00e9", "x\\n", "\udcff", "the", "cat"]] * 6
TINY: dict[str, Any] = {"dim": 3, "min_count": 1, "threads": 1}
# for each reader: the name of a model, and its settings
SETTINGS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "model-skipgram": [
        ("skipgram", {"output": "negative:k=5"}),
        ("skipgram", {"output": "hierarchical"}),
        ("skipgram", {"output": "nce:k=5,noise=learned"}),
    ],
    "model-exact": [("skipgram", {"on": "cells", "output": "softmax", "sample": 0})],
    "model-cbow": [("cbow", {"output": "class_based"}), ("cbow", {"output": "self_normalized"})],
    "model-fasttext": [("fasttext", {"output": "negative:k=5", "buckets": 50})],
    "model-glove": [("glove", {})],
    "model-svd": [("svd", {})],
}
LABELLED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "model-classifier": [
        ("classifier", {"minn": 2, "maxn": 3, "buckets": 50}),
        ("classifier", {"output": "hierarchical", "buckets": 50}),
    ]
}


def model_seeds(name: str, folder: Path) -> list[Files]:
    """Return folders with a finished model; with one that Ctrl-C cut off; with a checkpoint in them."""
    found = []
    for number, (kind, settings) in enumerate((SETTINGS | LABELLED)[name]):
        model = all_models()[kind](**TINY, **settings)
        source = (
            ([" ".join(line) for line in TEXT], [["a", "b"], ["c"]] * 6)
            if model.family == "classify"
            else (TEXT,)
        )
        if isinstance(model, EpochFields):
            model.epochs = 2
        whole = _saved(folder / f"whole{number}", model.fit(*source))
        found.append(whole)
        if isinstance(model, EpochFields):
            stopped = _saved(folder / f"stopped{number}", model.fit(*source, callbacks=[_interrupt]))
            inside = {name.replace("m/", "m/checkpoint/", 1): data for name, data in stopped.items()}
            found += [stopped, inside, {**whole, **inside}]
    return found


def _interrupt(progress: Progress) -> None:
    if progress.event == "epoch":
        raise KeyboardInterrupt


def _saved(home: Path, model: Any) -> Files:
    model.save(home / "m")
    return files_below(home)


def read_model(folder: Path, rng: random.Random) -> str:
    """Load a model in one of the ways that there are, and ask it."""
    path = folder / "m"
    ways = [unhot.load, unhot.load, load_unfinished, functools.partial(unhot.load, verify=True), load_words]
    way: Any = rng.choice([*ways, _asked, Word2Vec.load])
    model = way(path)
    if isinstance(model, str):
        return model
    if isinstance(model, Word2Vec):
        return ask(model.wv)
    words = model.vocabulary
    shape = (len(words), model.dim)
    if model.vectors.vectors.shape != shape:
        return f"vectors {model.vectors.vectors.shape}, not {shape}"
    if isinstance(model, WordModel) and len(words):
        with np.errstate(all="ignore"):  # a damaged number may be NaN
            found = model.predict_word(words.words[:1], 3)
        if len(found) != min(3, len(words)):
            return f"predicted {found}"
    if isinstance(model, Classifier):
        with np.errstate(all="ignore"):
            model.predict(["the cat", ""], 2)
            model.explain("the cat")
    return ask(model.vectors)


def resume_seeds(folder: Path) -> list[Files]:
    """Return trainings that Ctrl-C cut off, of every kind of model."""
    found = []
    for name in SETTINGS:
        (folder / name).mkdir()
        found += model_seeds(name, folder / name)[1::4]
    return found


def read_resumed(folder: Path, rng: random.Random) -> str:
    """Go on with a training, whose compiled code believes what was read.

    Other settings than before may need another kernel, which takes seconds to compile.
    """
    model: Any = load_unfinished(folder / "m")
    with contextlib.suppress(Diverged), np.errstate(all="ignore"):  # a damaged number may be NaN
        if model.config() in _settings():
            model.resume(_corpus())
    return "" if model.vectors.vectors.shape == (len(model.vocabulary), model.dim) else "other vectors"


@functools.cache
def _settings() -> list[dict[str, Any]]:
    """Return the settings of all trainings in epochs."""
    models = [all_models()[kind](**TINY, **how) for some in SETTINGS.values() for kind, how in some]
    return [{**model.config(), "epochs": 2} for model in models if isinstance(model, EpochFields)]


@functools.cache
def _corpus() -> Corpus:
    """Return the text, encoded once."""
    return encode(iter(TEXT), min_count=1, threads=1)


def _asked(path: Path) -> str:
    """Ask what a folder holds, as the command line does before it trains."""
    answers = holds_finished(path), holds_unfinished(path), is_trained(path)
    return "" if load_model(path).config is not None and all(type(each) is bool for each in answers) else "?"


def front_seeds(folder: Path) -> list[Files]:
    """Return fastText's files, and lines with labels to predict."""
    lines = (GOLDEN / "fasttext_sup_train.txt").read_bytes()[:1500]
    return [{**files, "lines.txt": lines} for files in special_fasttext(folder)]


def read_front(folder: Path, rng: random.Random) -> str:
    """Open a fastText file as fastText's module does, and predict the labels of lines."""
    model = fasttext.load_model(str(folder / "x.ftz"))
    if rng.random() < 0.2:
        loaded = unhot.load(folder / "x.ftz")
        return ask(loaded if isinstance(loaded, unhot.Vectors) else loaded.vectors)
    with np.errstate(all="ignore"):  # a damaged number may be NaN, or too large for float32
        return _predicted(model, folder / "lines.txt")


def _predicted(model: fasttext.FastText, lines_path: Path) -> str:
    if model.is_supervised:
        lines, precision, recall = model.test(lines_path, k=2)
        return "" if lines >= 0 and not precision > 1 and not recall > 1 else f"precision {precision}"
    if model.get_sentence_vector("where is it").shape != (model.get_dimension(),):
        return "a sentence vector of another size"
    words = model.get_words(on_unicode_error="surrogateescape")
    return "" if len(words) == len(set(words)) else "words twice"


READERS = [
    *(Reader(name, functools.partial(model_seeds, name), read_model) for name in SETTINGS | LABELLED),
    Reader("resume", resume_seeds, read_resumed, slack=48 * MEGABYTE),
    Reader("fasttext-module", front_seeds, read_front),
]
