"""YouTube-DNN: means of what was watched through layers with ReLU; see unhot/nn/towers/youtube_dnn.py."""

import dataclasses
from typing import Annotated

from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.towers.tower_model import ExampleFields, TowerModel


@model("youtube-dnn", family="recommend")
@dataclasses.dataclass(kw_only=True)
class YouTubeDNN(ExampleFields, TowerModel):
    """Recommend by a mean of the last items, side values and the values of event columns."""

    # how much an event counts in the mean, relative to the next newer one; 1: all alike
    decay: Annotated[float, Range(0)] = 0.8
    units: Annotated[int, Range(1, 1 << 16)] = 128  # units of each layer
    layers: Annotated[int, Range(0, 64)] = 1  # layers with ReLU
