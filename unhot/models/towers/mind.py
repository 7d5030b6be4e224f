"""MIND: several interests of a user; see unhot/nn/towers/mind.py."""

import dataclasses
from typing import Annotated

from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.towers.tower_model import ExampleFields, TowerModel


@model("mind", family="recommend")
@dataclasses.dataclass(kw_only=True)
class MIND(ExampleFields, TowerModel):
    """Recommend what suits one of several interests of a user."""

    length: Annotated[int, Range(1, 10_000)] = 10  # events of a history that the model reads
    interests: Annotated[int, Range(1, 64)] = 4  # at most; a history of n events has at most log2 n
    rounds: Annotated[int, Range(1, 100)] = 3  # rounds of routing
    # how much training prefers the interest nearest to the target; 0: all count alike
    power: Annotated[float, Range(0)] = 2.0
    units: Annotated[int, Range(1, 1 << 16)] = 128  # units of the layer above each interest
