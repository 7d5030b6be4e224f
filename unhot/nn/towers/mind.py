"""MIND: several interests of a user, by dynamic routing of events to them.

    K' = max(1, min(K, log2 n))                        interests of a history of n events
    w_ij = softmax over interests j of b_ij,   z_j = sum_i w_ij S e_i,   c_j = squash(z_j)
    b_ij = b_ij + c_j . S e_i                          `rounds` times, from fixed random b_ij
    u_j = MLP([c_j; values of the last event])

One matrix S serves all events and interests. Training takes u = sum_j softmax_j((u_j . v)^p) u_j, where v is
the output vector of the target, or its item vector if the layer has no row for each item: p = 0 is the plain
mean, a large p the best interest alone. Negative products count as 0, unless p is odd. A recommendation takes
the best interest: score(i) = max_j u_j . v_i.

Reference     Li et al., Multi-interest network with dynamic routing for recommendation at Tmall, 2019.
"""

from typing import Any

import torch
from torch import Tensor, nn

from unhot.nn.towers.event_vectors import EventVectors, relu_layers
from unhot.nn.towers.tower import EventBatch, Tower, at_place, tower

SMALLEST = 1e-30  # counts as 0: a root has no slope there
LARGEST = 40.0  # log of a power that gives the best interest all the weight; larger ones would overflow


@tower("mind")
class MINDTower(Tower):
    """Dynamic routing from events to interests."""

    causal = False

    start: Tensor  # [length, interests] the first logits, by the age of an event

    def __init__(self, settings: Any, columns: int) -> None:
        super().__init__(settings, columns)
        self.rounds, self.power = settings.rounds, settings.power
        self.register_buffer("start", torch.randn(self.length, settings.interests))
        self.shared = nn.Linear(self.dim, self.dim, bias=False)
        self.layers = relu_layers([2 * self.dim, settings.units, self.dim], settings.dropout)

    def forward(self, batch: EventBatch, events: EventVectors) -> Tensor:
        """Return the interests after the last event; those that a short history lacks are zeros."""
        vectors = self.shared(self.dropout(events.sums(batch.items, None, None)))  # [batch, steps, dim]
        there = batch.there[:, :, None]
        wanted = there.sum(dim=1).clamp(min=2).log2().floor()  # interests of each history
        kept = torch.arange(self.start.shape[1], device=there.device) < wanted
        logits = self.start[batch.numbers.clamp(min=0)].masked_fill(~kept[:, None], -torch.inf)
        capsules = self._routed(vectors, logits, there)
        context = events.of_features(batch.rows, batch.weights)
        own = vectors.new_zeros(len(vectors), self.dim) if context is None else at_place(context, batch.last)
        known = torch.cat([capsules, own[:, None].expand_as(capsules)], dim=2)
        found: Tensor = self.layers(known) * kept[:, :, None]
        return found[:, None]

    def _routed(self, vectors: Tensor, logits: Tensor, there: Tensor) -> Tensor:
        """Return the capsules [batch, interests, dim]; the gradient goes through the last round alone."""
        fixed = vectors.detach()
        for _ in range(self.rounds - 1):
            found = squash((logits.softmax(dim=2) * there).transpose(1, 2) @ fixed)
            logits = logits + fixed @ found.transpose(1, 2)
        return squash((logits.softmax(dim=2) * there).transpose(1, 2) @ vectors)

    def chosen(self, interests: Tensor, targets: Tensor) -> Tensor:
        """Return the interests weighted by their products with the target's output vector."""
        products = (interests * targets[..., None, :]).sum(dim=-1)
        if self.power % 2 != 1:
            products = products.clamp(min=SMALLEST)
        best = products.detach().abs().amax(dim=-1, keepdim=True).clamp(min=SMALLEST)
        highest = (self.power * best.log()).clamp(max=LARGEST).exp()
        powers = highest * (products / best) ** self.power
        lacking = (interests == 0).all(dim=-1)
        weights = powers.masked_fill(lacking, -torch.inf).softmax(dim=-1)
        found: Tensor = (weights[..., None] * interests).sum(dim=-2)
        return found


def squash(z: Tensor) -> Tensor:
    """Return |z|^2 / (1 + |z|^2) z / |z|."""
    square = z.square().sum(dim=-1, keepdim=True)
    return z * square / (1 + square) / (square + 1e-12).sqrt()
