"""SASRec: causal self-attention over the last events.

    x_i = sqrt(dim) e_i + p_i,   x = x + attention(norm(x)),   x = x + W2 relu(W1 norm(x))     in each block
    u_i = norm(x_i)

Reference     Kang & McAuley, Self-attentive sequential recommendation, 2018.
"""

from typing import Any

import torch
from torch import Tensor, nn

from unhot.errors import ConfigError
from unhot.nn.attention import AttentionBlock
from unhot.nn.towers.event_vectors import WIDTH, EventVectors
from unhot.nn.towers.tower import EventBatch, Tower, tower


@tower("sasrec")
class SASRecTower(Tower):
    """Blocks of causal attention."""

    def __init__(self, settings: Any, columns: int) -> None:
        super().__init__(settings, columns)
        if self.dim % settings.heads:
            raise ConfigError(f"heads={settings.heads}: must divide dim={self.dim}")
        self.positions = nn.Parameter(torch.empty(self.length, self.dim))
        if not self.positions.is_meta:
            nn.init.normal_(self.positions, std=WIDTH * self.dim**0.5)
        self.blocks = nn.ModuleList(
            AttentionBlock(self.dim, settings.heads, settings.wider) for _ in range(settings.blocks)
        )
        self.norm = nn.LayerNorm(self.dim)

    def forward(self, batch: EventBatch, events: EventVectors) -> Tensor:
        """Return a vector after each event."""
        x = self.dim**0.5 * events.sums(batch.items, batch.rows, batch.weights)
        x = self.dropout(x + self.positions[: x.shape[1]])
        for block in self.blocks:
            assert isinstance(block, AttentionBlock)
            normed = block.first(x)
            x = x + self.dropout(block.attend(normed, normed))
            x = x + self.dropout(block.mapped(x))
        found: Tensor = self.norm(x)
        return found
