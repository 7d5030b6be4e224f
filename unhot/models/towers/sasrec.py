"""SASRec: causal self-attention over the last events; see unhot/nn/towers/sasrec.py."""

import dataclasses
from typing import Annotated

from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.towers.tower_model import TowerModel


@model("sasrec", family="recommend")
@dataclasses.dataclass(kw_only=True)
class SASRec(TowerModel):
    """Recommend by attention to the last events."""

    dropout: Annotated[float, Range(0)] = 0.5  # dropout probability
    blocks: Annotated[int, Range(1, 64)] = 2  # blocks of attention
    heads: Annotated[int, Range(1, 1 << 10)] = 2  # heads of attention; must divide dim
    wider: Annotated[int, Range(1, 64)] = 1  # units between the two maps of a block, as a multiple of dim
