"""Tally: recommend the items with the most events, by a power of their number."""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.models.counted_model import CountedModel
from unhot.models.model import model
from unhot.models.settings import Range


class Tallied(NamedTuple):
    tally: Any  # [items]


@model("tally", family="recommend")
@dataclass(kw_only=True)
class Tally(CountedModel):
    exponent: Annotated[float, Range(0)] = 1.0  # the power of the number of events

    grid = ([{"exponent": 1.0}, {"exponent": 0.5}], [{}])  # what a comparison tries

    def count(self, log, tells):
        return Tallied(log.items.counts.astype(np.float32) ** np.float32(self.exponent))

    def counted_from(self, tensors, items):
        return Tallied(tensors["tally"].reshape(items))

    def scores(self, histories):
        return np.tile(self.counted.tally, (len(histories), 1))
