"""The groups of settings, under the name by which models from outside the package import them."""

from unhot.models.settings import (
    EpochFields,
    HistoryFields,
    ItemFields,
    ItemWalkFields,
    LogFields,
    MarkFields,
    TextFields,
    VectorFields,
    WalkFields,
    WindowFields,
)

__all__ = [
    "EpochFields",
    "HistoryFields",
    "ItemFields",
    "ItemWalkFields",
    "LogFields",
    "MarkFields",
    "TextFields",
    "VectorFields",
    "WalkFields",
    "WindowFields",
]
