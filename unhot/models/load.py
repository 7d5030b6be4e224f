"""All models of the package by name, and loading any that was saved."""

import importlib
import os
import pkgutil
from pathlib import Path
from typing import Any

import unhot.models
from unhot.errors import DataError, FormatError
from unhot.models.fasttext import FastText
from unhot.models.fasttext_file import holds_model
from unhot.models.model import MODELS, Model
from unhot.models.word_model import WordModel
from unhot.vectors.formats.directory import CURRENT, checkpoint_of, is_model, load_model
from unhot.vectors.formats.sniff import is_fasttext

for _module in pkgutil.iter_modules(unhot.models.__path__):
    if _module.name != "load":
        importlib.import_module(f"unhot.models.{_module.name}")  # registers what it defines


def all_models() -> dict[str, type[Model[Any]]]:
    """Every model of the package, and all others that are registered by now."""
    return dict(MODELS)


def word_models() -> dict[str, type[WordModel]]:
    """Those with an output layer."""
    return {name: kind for name, kind in MODELS.items() if issubclass(kind, WordModel)}


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Model[Any]:
    """A saved model, or a .bin of fastText, memory-mapped.

    `verify` also checks every byte against its checksum, where there are any.
    """
    if Path(path).is_file() and is_fasttext(Path(path)):
        return FastText.load_fasttext(path)
    saved = load_model(Path(path), verify=verify)
    name = saved.config.get("model")
    if not isinstance(name, str) or name not in MODELS:
        raise FormatError(
            f"{path}: a model of kind {name!r}: this version of unhot knows {', '.join(sorted(MODELS))}; "
            "import one of your own before you load it (--plugin FILE)"
        )
    return MODELS[name].from_saved(saved)


def load_words(path: str | os.PathLike[str], *, verify: bool = False) -> WordModel:
    """A saved model with an output layer."""
    model = load(path, verify=verify)
    if not isinstance(model, WordModel):
        raise FormatError(
            f"{path}: a model of kind {model.name!r}, which has no output layer; read its vectors with "
            "Vectors.load"
        )
    return model


def load_unfinished(path: str | os.PathLike[str]) -> Model[Any]:
    """The model of a training that was cut off, to `resume`: of its last checkpoint, or as Ctrl-C left it."""
    folder = checkpoint_of(Path(path))
    model = load(folder if is_model(folder) else path)
    if model.complete:
        more = "to learn from more text, start another one from it (--start, fit(start=...))"
        raise DataError(f"{path}: its training is complete{f': {more}' if model.starts else ''}")
    return model


def holds_unfinished(path: str | Path) -> bool:
    """Whether a folder has a training that can be resumed: a checkpoint, or a model as Ctrl-C left it."""
    return is_model(checkpoint_of(path)) or (is_model(path) and "training" in load_model(Path(path)).config)


def holds_finished(path: str | Path) -> bool:
    """Whether a folder has a complete model, beside a checkpoint or not."""
    return (Path(path) / CURRENT).is_file() and "training" not in load_model(path).config


def is_trained(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a model that can go on learning, not vectors alone."""
    if Path(path).is_file() and is_fasttext(Path(path)):
        return holds_model(path)
    if not is_model(Path(path)):
        return False
    saved = load_model(Path(path))
    return (
        saved.config.get("model") in word_models() and {"in_vectors", "out_vectors"} <= saved.tensors.keys()
    )
