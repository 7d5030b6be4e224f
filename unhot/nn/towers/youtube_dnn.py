"""YouTube-DNN: layers with ReLU over means of what was watched, features of the user, and the example's age.

    u = MLP([sum of decay^age e / sum of decay^age;  mean of side values;  values of the last event;  age])

The age of an event in a history is the number of events behind it. The example age is how long before the end
of the log the target was, so that the model learns what was popular when; it is 0 for a recommendation.

Reference     Covington, Adams & Sargin, Deep neural networks for YouTube recommendations, 2016.
"""

from typing import Any

import torch
from torch import Tensor

from unhot.nn.towers.event_vectors import EventVectors, relu_layers
from unhot.nn.towers.tower import EventBatch, Tower, at_place, tower


@tower("youtube-dnn")
class YouTubeTower(Tower):
    """Linear layers with ReLU over means."""

    causal = False

    def __init__(self, settings: Any, columns: int) -> None:
        super().__init__(settings, columns)
        self.decay = settings.decay
        inputs = self.dim * (2 + columns) + 1
        self.layers = relu_layers([inputs, *[settings.units] * settings.layers, self.dim], settings.dropout)

    def forward(self, batch: EventBatch, events: EventVectors) -> Tensor:
        """Return a vector after the last event."""
        weights = self.decay ** batch.numbers.clamp(min=0) * batch.there
        weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-9)
        vectors = [events.of_items(batch.items)]
        if events.columns:
            vectors += events.of_sides(batch.items).unbind(dim=2)
        means = [(weights[:, None] @ each)[:, 0] for each in vectors]
        context = events.of_features(batch.rows, batch.weights)
        own = torch.zeros_like(means[0]) if context is None else at_place(context, batch.last)
        age = own.new_zeros(len(own), 1) if batch.ages is None else batch.ages
        known = self.dropout(torch.cat([*means, own], dim=1))
        found: Tensor = self.layers(torch.cat([known, age], dim=1))
        return found[:, None]
