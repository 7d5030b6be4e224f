"""Last and mean: a user vector from the last event and the mean of all events.

u = W2 relu(W1 [e_n; m] + b1) + b2,   m = mean of e_1 .. e_n
"""
# ruff: noqa: D101, D102

from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.towers.tower_model import ExampleFields, TowerModel
from unhot.nn.towers import EventBatch, EventVectors, Tower, tower
from unhot.nn.towers.tower import at_place


@tower("last-and-mean")
class LastAndMeanTower(Tower):
    causal = False  # one vector after the last event, not one after each

    def __init__(self, settings: Any, columns: int) -> None:
        super().__init__(settings, columns)
        self.inner = nn.Linear(2 * self.dim, settings.units)
        self.outer = nn.Linear(settings.units, self.dim)

    def forward(self, batch: EventBatch, events: EventVectors) -> Tensor:
        x = self.dropout(events.sums(batch.items, batch.rows, batch.weights))  # [batch, steps, dim]
        number = batch.there.sum(dim=1, keepdim=True).clamp(min=1)  # padding has vectors of zeros
        known = torch.cat([at_place(x, batch.last), x.sum(dim=1) / number], dim=1)
        found: Tensor = self.outer(self.inner(known).relu())
        return found[:, None]  # [batch, 1, dim]


@model("last-and-mean", family="recommend")
@dataclass(kw_only=True)
class LastAndMean(ExampleFields, TowerModel):
    units: Annotated[int, Range(1, 1 << 16)] = 64  # units of the layer with ReLU

    grid = ([{}, {"lr": 0.01}], [{}])  # what `compare` tries: to fit with, to ask with
