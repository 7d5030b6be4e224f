"""Find all models by name, and load saved ones."""

import dataclasses
import importlib
import os
import pkgutil
from pathlib import Path
from typing import Any

import unhot.models
from unhot.errors import DataError, FormatError
from unhot.lm.language_model import AskedModel, LanguageModel
from unhot.models.families import in_order
from unhot.models.fasttext import FastText
from unhot.models.fasttext_file import holds_model
from unhot.models.fitting import opened
from unhot.models.model import MODELS, Model
from unhot.models.ngram_model import NGramModel
from unhot.models.word_model import WordModel
from unhot.ngrams.kenlm_file import MAGIC, read_kenlm
from unhot.ngrams.trie_scorer import TrieScorer
from unhot.vectors.formats import PACKED, foreign, head_of, is_fasttext, sniff
from unhot.vectors.formats.directory import (
    CURRENT,
    SMALL,
    check_exists,
    check_finite,
    checkpoint_of,
    is_model,
    load_model,
)
from unhot.vectors.formats.fasttext import read_fasttext
from unhot.vectors.formats.remote_folder import local_copy
from unhot.vectors.store import Vectors

ARPA = b"\\data\\"  # how an ARPA file begins


for _module in pkgutil.iter_modules(unhot.models.__path__):
    if _module.name != "load":
        importlib.import_module(f"unhot.models.{_module.name}")  # importing a model registers it


def all_models() -> dict[str, type[Model[Any, Any]]]:
    """Return all registered models by name: those of the package and those of loaded plugins."""
    return dict(MODELS)


def models_of(family: str) -> dict[str, type[Model[Any, Any]]]:
    """Return the registered models of a family by name: its usual model first, then the most similar ones."""
    settings = {
        name: [field.name for field in dataclasses.fields(kind)]
        for name, kind in MODELS.items()
        if kind.family == family
    }
    return {name: MODELS[name] for name in in_order(settings, family)}


def word_models() -> dict[str, type[WordModel]]:
    """Return all registered models that have an output layer, by name."""
    return {name: kind for name, kind in MODELS.items() if issubclass(kind, WordModel)}


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Any:
    """Open anything that unhot or a peer wrote: a model, vectors, an encoded text, cells.

    A folder is what its index says. A file is a .bin of fastText, a language model (ARPA, compressed or not,
    or KenLM's binary), or vectors in any format of `Vectors.load`. All are memory-mapped where the format
    allows it. Pickles are never opened.

    `verify` also compares every byte with the stored checksums, if a folder has them. A number that is
    infinite or NaN is looked for in small models, and with `verify` in models of any size.
    """
    path = given = local_copy(path)
    check_exists(given)
    if given.is_file():
        return _load_file(given)
    if not isinstance(found := opened(given), Path):  # an encoded text, a log or cells
        return found
    if sniff(given) in ("model2vec", "projector"):
        return Vectors.load(given)
    saved = load_model(given, verify=verify)
    name = saved.config.get("model")
    if name == "vectors":
        return Vectors.load(given)
    if not isinstance(name, str) or name not in MODELS:
        raise FormatError(
            f"{path}: is a model of kind {name!r}, but unhot knows only {', '.join(sorted(MODELS))}; if it "
            "is your own, import its file first (--plugin FILE)"
        )
    small = sum(tensor.nbytes for tensor in saved.tensors.values()) <= SMALL
    if MODELS[name].__module__.startswith(unhot.models.__name__) and (small or verify):
        check_finite(saved, given)  # a plugin knows best what its numbers may be
    return MODELS[name].from_saved(saved)


def _load_file(path: Path) -> Any:
    if is_fasttext(path) and (holds_model(path) or read_fasttext(path).header.supervised):
        return FastText.load_fasttext(path)  # a classifier: the error names what opens it
    head, kind = head_of(path), sniff(path)
    if (kind is None and path.suffix in PACKED) or head.lstrip().startswith((MAGIC, ARPA)):
        return load_language_model(path)
    # a file of another kind that is known has an error of its own, such as a pickle
    return load_model(path) if kind is None and foreign(path) is None else Vectors.load(path)


def load_language_model(path: str | os.PathLike[str], threads: int = 2) -> LanguageModel:
    """Load a language model: a folder, an ARPA file, compressed or not, or a binary file of KenLM."""
    path = local_copy(path)
    check_exists(path)
    if Path(path).is_file() and head_of(Path(path)).startswith(MAGIC):
        read = read_kenlm(Path(path))
        return AskedModel(TrieScorer(read.words, read.model, threads=threads))
    found = NGramModel.load_arpa(path) if Path(path).is_file() else load_saved(path)
    if not isinstance(found, LanguageModel):
        raise FormatError(
            f"{path}: is a model of kind {found.name!r}, not a language model; {found.use.format(path)}"
        )
    found.threads = threads
    return found


def load_saved(path: str | os.PathLike[str], *, verify: bool = False) -> Model[Any, Any]:
    """Load a model; raise a `FormatError` that says what else a path is, and what can be done with it."""
    found = load(path, verify=verify)
    if isinstance(found, Vectors):
        raise FormatError(
            f"{path}: has vectors without a model; query them with: unhot neighbors {path} WORD"
        )
    if not isinstance(found, Model):
        raise FormatError(f"{path}: is {type(found).__name__}, not a trained model; unhot info says more")
    return found


def load_words(path: str | os.PathLike[str], *, verify: bool = False) -> WordModel:
    """Load a saved model that has an output layer; raise a `FormatError` for other models."""
    model = load_saved(path, verify=verify)
    if not isinstance(model, WordModel):
        raise FormatError(
            f"{path}: is a model of kind {model.name!r}, which has no output layer; read its vectors with "
            "Vectors.load"
        )
    return model


def load_unfinished(path: str | os.PathLike[str]) -> Model[Any, Any]:
    """Load a training to `resume`: its last checkpoint, or the model as Ctrl-C left it.

    If the training is complete, this is the trained model, and `resume()` returns it as it is.
    """
    folder = checkpoint_of(Path(path))
    if Path(path).is_dir() and not is_model(Path(path)):  # which looks for a checkpoint, too
        raise DataError(
            f"{path}: holds no checkpoint and no model, so there is nothing to resume: a training that ended "
            "before its first checkpoint starts over, with the same command as before"
        )
    return load_saved(folder if is_model(folder) else path)


def holds_unfinished(path: str | Path) -> bool:
    """Return whether a folder holds a training to resume: a checkpoint, or a model as Ctrl-C left it."""
    return is_model(checkpoint_of(path)) or (is_model(path) and "training" in load_model(Path(path)).config)


def holds_finished(path: str | Path) -> bool:
    """Return whether a folder holds a complete model, with or without a checkpoint beside it."""
    return (Path(path) / CURRENT).is_file() and "training" not in load_model(path).config


def is_trained(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a model that can be trained further, not vectors alone."""
    path = local_copy(path)
    if path.is_file() and is_fasttext(path):
        return holds_model(path)
    if not is_model(Path(path)):
        return False
    saved = load_model(Path(path))
    return (
        saved.config.get("model") in word_models() and {"in_vectors", "out_vectors"} <= saved.tensors.keys()
    )
