"""A recommender as a module: a tower turns histories into user vectors, an output layer predicts items."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from unhot.lm.symbols import IGNORED
from unhot.nn.headed_net import HeadedNet
from unhot.nn.towers.event_vectors import EventVectors
from unhot.nn.towers.tower import EventBatch, Tower, at_place
from unhot.outputs import OutputLayer
from unhot.types import Counts, Floats


class TowerNet(HeadedNet):
    """Predicts the item after each event, or after the last one.

    tie     use the vectors of items as output vectors; None: wherever the layer allows it
    sparse  make sparse gradients of item and output vectors, where the layer does not score all items
    """

    def __init__(
        self,
        tower: Tower,
        events: EventVectors,
        output: str | OutputLayer,
        counts: Counts,
        *,
        tie: bool | None = None,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        self.events, self.tower = events, tower
        weight: Any = events.items.weight
        self.add_head(output, counts, events.dim, weight, tie=tie is not False, wanted=tie is not None)
        if sparse and not self.head.scores_all_words:
            self.head.sparse = events.items.sparse = True

    def begin(self, width: int) -> tuple[Tensor, ...]:
        """Return the state before an epoch: histories carry nothing on."""
        return ()

    def forward(self, *inputs: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the mean loss of a batch: parts of an `EventBatch`, targets [batch, asked], the state."""
        *parts, targets, state = inputs
        users, asked = self.tower(EventBatch(*parts), self.events), targets != IGNORED
        users, targets = users[asked], targets[asked]
        if users.ndim == 3:
            users = self.tower.chosen(users, self.rows_of(targets))
        self.enter_part(targets)
        return self.head(users, targets), state

    def rows_of(self, targets: Tensor) -> Tensor:
        """Return the output vectors of items; their item vectors if the layer has no row for each item."""
        own = self.head.layer.rows_are_words and self.head.untied is None
        return self.head.rows_of(targets) if own else self.events.of_items(targets)

    @torch.inference_mode()
    def users_of(self, arrays: Sequence[Any]) -> Floats:
        """Return the vectors of users after their last events, of the arrays of an `EventBatch`.

        The result is [batch, interests, dim]. A short history has fewer interests than the others: the first
        one stands in for those that it lacks.
        """
        self.eval()
        device = self.events.items.weight.device
        given: Any = [None if one is None else torch.from_numpy(one).to(device) for one in arrays]
        batch = EventBatch(*given)
        found = self.tower(batch, self.events)
        found = at_place(found, batch.last)[:, None] if self.tower.causal else found
        interests = found[:, 0] if found.ndim == 4 else found
        lacking = (interests == 0).all(dim=2, keepdim=True)
        users: Floats = torch.where(lacking, interests[:, :1], interests).float().cpu().numpy()
        return users

    @torch.inference_mode()
    def log_prob_of(self, users: Floats) -> Floats:
        """Return the log-probabilities of all items for user vectors: [n, dim] -> [n, items]."""
        found: Floats = self.head.log_prob(torch.from_numpy(users).to(self.head.counts.device)).cpu().numpy()
        return found
