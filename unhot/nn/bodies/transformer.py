"""transformer: attention to the last words.

    x = x + attention(norm(x)),   x = x + V relu(W norm(x))        in each layer; a norm comes last

Each head weighs the last `context` words by the softmax of q . k / sqrt(size) - slope * distance; slopes fall
by heads, from 1/2 (Press, Smith and Lewis, Train short, test long, 2022), so nothing depends on where a piece
begins. A state is what each layer has seen.

Reference     Vaswani et al., Attention is all you need, 2017; Dai et al., Transformer-XL, 2019 (states).
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from unhot.errors import ConfigError
from unhot.nn.attention import AttentionBlock
from unhot.nn.bodies.body import Body, State, body
from unhot.specs import Range


@body("transformer")
@dataclass(eq=False, repr=False)
class Transformer(Body):
    """Layers of attention."""

    layers: Annotated[int, Range(1, 1 << 10)] = 3
    heads: Annotated[int, Range(1, 1 << 10)] = 4
    context: Annotated[int, Range(1, 1 << 16)] = 64  # words that a layer sees

    def make(self) -> None:
        """Make the layers."""
        width = self.width
        if width % self.heads:
            raise ConfigError(f"transformer:heads={self.heads}: must divide the width of {width}")
        self.enter = nn.Identity() if width == self.dim else nn.Linear(self.dim, width)
        self.blocks = nn.ModuleList(AttentionBlock(width, self.heads) for _ in range(self.layers))
        self.norm = nn.LayerNorm(width)

    def begin(self, batch: int) -> State:
        """Return nothing seen: no steps, and zeros in their places."""
        device = self.embedding.weight.device
        seen = torch.zeros(batch, dtype=torch.int64, device=device)
        return (seen, *(self.zeros(batch, self.context - 1, self.width) for _ in range(self.layers)))

    def forward(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """Run the layers over all steps."""
        x = self.enter(self.drop(self.embedding(ids)))
        seen, *memories = state
        bias = self._bias(ids.shape[1], seen)
        after = [(seen + ids.shape[1]).clamp(max=self.context - 1)]
        for block, memory in zip(self.blocks, memories, strict=True):
            assert isinstance(block, AttentionBlock)
            known = torch.cat([memory, x], dim=1)
            after.append(known[:, known.shape[1] - self.context + 1 :])
            x = x + self.drop(block.attend(block.first(x), block.first(known), bias))
            x = x + self.drop(block.mapped(x))
        return self.drop(self.norm(x)), tuple(after)

    def _bias(self, steps: int, seen: Tensor) -> Tensor:
        """Return what is added to the scores: [batch, heads, steps, context - 1 + steps]."""
        device, before = seen.device, self.context - 1
        query, key = torch.arange(steps, device=device)[:, None], torch.arange(-before, steps, device=device)
        distance = query - key  # [steps, known]
        slopes = 2.0 ** -torch.linspace(1, 8, self.heads, device=device)
        bias = -slopes[:, None, None] * distance
        there = (distance >= 0) & (distance < self.context) & (key >= -seen[:, None, None])
        return torch.where(there[:, None], bias, -torch.inf)
