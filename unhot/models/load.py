"""Loading any saved model."""

from __future__ import annotations

import os
from pathlib import Path

from unhot.errors import FormatError
from unhot.models.cbow import CBOW
from unhot.models.skipgram import SkipGram
from unhot.models.words import WordModel
from unhot.vectors.formats.directory import load_model

MODELS: dict[str, type[WordModel]] = {model.name: model for model in (SkipGram, CBOW)}


def load(path: str | os.PathLike[str], *, verify: bool = False) -> WordModel:
    """A saved model, memory-mapped; `verify` also checks every byte against its checksum."""
    saved = load_model(Path(path), verify=verify)
    name = saved.config.get("model")
    if name not in MODELS:
        raise FormatError(f"{path}: a model of kind {name!r}: this version of unhot knows {', '.join(sorted(MODELS))}")
    return MODELS[name].from_saved(saved)
