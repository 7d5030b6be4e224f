"""Towers: nets that turn the events of a history into user vectors. Importing the package registers them."""

from unhot.nn.towers import gru4rec, mind, sasrec, sdm, youtube_dnn
from unhot.nn.towers.event_vectors import EventVectors
from unhot.nn.towers.tower import TOWERS, EventBatch, Tower, tower, tower_of

__all__ = [
    "TOWERS",
    "EventBatch",
    "EventVectors",
    "Tower",
    "gru4rec",
    "mind",
    "sasrec",
    "sdm",
    "tower",
    "tower_of",
    "youtube_dnn",
]
