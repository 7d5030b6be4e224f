"""bengio: the first neural language model.

    x = the embeddings of the last `context` words, one behind the other
    y = b + W x + U tanh(d + H x)

The output layer has the rows [W_i, U_i] and the biases b, so the body's hidden vector is [x; tanh(d + H x)].
Without `direct`, W is left out and the hidden vector is tanh(d + H x). Words before the beginning of the text
have embeddings of zeros.

Reference     Bengio et al., A neural probabilistic language model, 2003, equation 1.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from unhot.nn.bodies.body import Body, State, body
from unhot.specs import Range
from unhot.types import Doubles

NOTHING = -1  # the id of a word before the beginning


@body("bengio")
@dataclass(eq=False, repr=False)
class Bengio(Body):
    """A layer of tanh over the last words."""

    layers: Annotated[int, Range(1, 1)] = 1
    context: Annotated[int, Range(1, 1 << 10)] = 5  # words that the next one is predicted from
    direct: bool = True  # connect the embeddings with the output, too

    ties = False

    @property
    def width(self) -> int:
        """The length of [x; tanh(d + H x)]."""
        return (self.context * self.dim if self.direct else 0) + (self.units or self.dim)

    def make(self) -> None:
        """Make H and d."""
        self.hidden = nn.Linear(self.context * self.dim, self.units or self.dim)

    def begin(self, batch: int) -> State:
        """Return ids of words that are not there."""
        device = self.embedding.weight.device
        return (torch.full((batch, self.context - 1), NOTHING, device=device),)

    def forward(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the hidden vector of each word's context."""
        known = torch.cat([state[0], ids], dim=1)
        there = (known != NOTHING)[:, :, None]
        rows = self.drop(self.embedding(known.clamp(min=0)) * there)
        steps = ids.shape[1]
        x = torch.cat([rows[:, i : i + steps] for i in range(self.context)], dim=2)
        hidden = torch.tanh(self.hidden(x))
        after = known[:, known.shape[1] - self.context + 1 :]
        return self.drop(torch.cat([x, hidden], dim=2) if self.direct else hidden), (after,)

    def reference(self, ids: list[int], rows: Doubles) -> Doubles:
        """Compute the scores of all words after each of the ids, by the formula above, in float64.

        `rows` are the output rows [W_i, U_i, b_i].
        """
        table, h, d = (
            parameter.detach().double().numpy()
            for parameter in (self.embedding.weight, self.hidden.weight, self.hidden.bias)
        )
        direct = self.context * self.dim if self.direct else 0
        scores = []
        for i in range(len(ids)):
            last = [ids[j] if j >= 0 else NOTHING for j in range(i - self.context + 1, i + 1)]
            x = np.concatenate([table[j] if j != NOTHING else np.zeros(self.dim) for j in last])
            w, u = rows[:, :direct], rows[:, direct:-1]
            scores.append(rows[:, -1] + (w @ x if self.direct else 0.0) + u @ np.tanh(d + h @ x))
        return np.stack(scores)
