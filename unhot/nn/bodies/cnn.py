"""cnn: gated convolutions that see only words before.

    x_l = x_(l-1) + (A * x_(l-1) + a) sigmoid(B * x_(l-1) + b)

    * : a convolution over the last `size` steps

The first layer takes embeddings to `units` numbers, where these differ. Before the beginning of the text each
layer sees zeros.

Reference     Dauphin et al., Language modeling with gated convolutional networks, 2017.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from unhot.nn.bodies.body import Body, State, body
from unhot.specs import Range


@body("cnn")
@dataclass(eq=False, repr=False)
class GatedConvolutions(Body):
    """Layers of gated convolutions."""

    layers: Annotated[int, Range(1, 1 << 10)] = 4
    size: Annotated[int, Range(2, 1 << 10)] = 4  # steps that a layer sees

    def make(self) -> None:
        """Make the convolutions."""
        width = self.width
        self.enter = nn.Identity() if width == self.dim else nn.Linear(self.dim, width)
        self.convolutions = nn.ModuleList(nn.Conv1d(width, 2 * width, self.size) for _ in range(self.layers))

    def begin(self, batch: int) -> State:
        """Return what each layer has seen: zeros."""
        return tuple(self.zeros(batch, self.size - 1, self.width) for _ in range(self.layers))

    def forward(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """Run the layers over all steps."""
        x = self.enter(self.drop(self.embedding(ids)))
        after = []
        for convolution, before in zip(self.convolutions, state, strict=True):
            seen = torch.cat([before, x], dim=1)
            after.append(seen[:, -(self.size - 1) :])
            gated = nn.functional.glu(convolution(seen.transpose(1, 2)), dim=1)
            x = x + self.drop(gated.transpose(1, 2))
        return x, tuple(after)
