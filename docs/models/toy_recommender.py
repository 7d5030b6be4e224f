"""Tally: recommend the items with the most events, by a power of their number."""
# ruff: noqa: D101, D102

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import Range


class Tallied(NamedTuple):
    tally: Any  # [items]


@model("tally", family="recommend")
@dataclass(kw_only=True)
class Tally(RecommenderModel):
    exponent: Annotated[float, Range(0)] = 1.0  # the power of the number of events

    grid = ([{"exponent": 1.0}, {"exponent": 0.5}], [{}])  # what `compare` tries: to fit with, to ask with

    def count(self, log: Any, tells: Any) -> Tallied:
        return Tallied(log.items.counts.astype(np.float32) ** np.float32(self.exponent))

    def counted_from(self, tensors: Any, items: int) -> Tallied:
        return Tallied(tensors["tally"].reshape(items))

    def score(self, counted: Tallied, histories: Any) -> Any:
        return np.tile(counted.tally, (len(histories), 1))
