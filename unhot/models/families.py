"""The families of models: how their commands are called, and in which order people see their models.

A model names its family where it is registered: `@model("item2vec", family="recommend")`. This file loads no
compiler, because help texts need it.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class Family(NamedTuple):
    """What trains the models of a family, and its usual model."""

    train: str  # the command that trains its models
    usual: str  # the name of the model that is trained if none is named


FAMILIES = {
    "words": Family("unhot train", "skipgram"),
    "classify": Family("unhot classify train", "classifier"),
    "language": Family("unhot lm train", "ngram"),
    "recommend": Family("unhot recommend train", "item2vec"),
    "graph": Family("unhot graph train", "graph-vectors"),
}


def in_order(settings: Mapping[str, Collection[str]], family: str) -> list[str]:
    """Return names of models: the usual one of a family first, then those that share the most settings.

    settings   the names of each model's settings, by the name of the model
    """
    usual = FAMILIES[family].usual
    shared = {name: len({*own} & {*settings.get(usual, ())}) for name, own in settings.items()}
    return sorted(settings, key=lambda name: (name != usual, -shared[name], name))
