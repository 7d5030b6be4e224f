"""GRU4Rec: gated recurrent units over a session; see unhot/nn/towers/gru4rec.py."""

import dataclasses
from typing import Annotated

from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.towers.tower_model import TowerModel


@model("gru4rec", family="recommend")
@dataclasses.dataclass(kw_only=True)
class GRU4Rec(TowerModel):
    """Recommend by recurrent units over the events."""

    units: Annotated[int, Range(1, 1 << 16)] = 128  # units of each layer
    layers: Annotated[int, Range(1, 64)] = 1  # layers of units
