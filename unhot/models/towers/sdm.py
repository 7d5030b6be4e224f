"""SDM: a short session, fused with what a user likes; see unhot/nn/towers/sdm.py."""

import dataclasses
from typing import Annotated

from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.towers.tower_model import ExampleFields, TowerModel


@model("sdm", family="recommend")
@dataclasses.dataclass(kw_only=True)
class SDM(ExampleFields, TowerModel):
    """Recommend by the short session, and by sets of what was there before it."""

    short: Annotated[int, Range(1, 10_000)] = 10  # events of the short session, at most
    pause: Annotated[float, Range(0)] = 0.0  # minutes without an event that end the short session; 0: none do
    long_term: bool = True  # use what came before the short session
    heads: Annotated[int, Range(1, 1 << 10)] = 4  # heads of attention; must divide dim
