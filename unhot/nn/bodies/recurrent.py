"""rnn, gru and lstm: layers of cells, whose states are carried on.

    x_0 = embedding,   x_l(i) = cell_l(x_(l-1)(i), state_l)

Dropout is variational: what is dropped is the same in all steps of a piece, between layers (`dropout`) and in
the matrix that takes a state to the next (`recurrent`; Merity, Keskar and Socher, Regularizing and optimizing
LSTM language models, 2018).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from unhot.errors import ConfigError, at_least
from unhot.nn.bodies.body import Body, State, body
from unhot.nn.number_types import autocasts


@dataclass(eq=False, repr=False)
class Recurrent(Body):
    """Layers of cells."""

    recurrent: float = 0.0  # the share of the recurrent weights that is dropped

    cell: ClassVar[type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]]
    states: ClassVar[int] = 1  # tensors of a cell's state

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if at_least(f"{self.name}:recurrent", self.recurrent, 0) >= 1:
            raise ConfigError(f"{self.name}:recurrent={self.recurrent}: must be less than 1")

    def make(self) -> None:
        """Make the cells."""
        sizes = [self.dim, *[self.width] * self.layers]
        self.cells = nn.ModuleList(
            self.cell(sizes[i], sizes[i + 1], batch_first=True) for i in range(self.layers)
        )

    def begin(self, batch: int) -> State:
        """Return zeros."""
        return tuple(self.zeros(batch, self.width) for _ in range(self.layers * self.states))

    def forward(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """Run the cells over all steps."""
        x = self.drop_held(self.embedding(ids))
        after: list[Tensor] = []
        for number, cell in enumerate(self.cells):
            own = tuple(one[None] for one in state[number * self.states : (number + 1) * self.states])
            x, last = self._run(cell, x, own if self.states > 1 else own[0])
            after += [one[0] for one in (last if self.states > 1 else (last,))]
            x = self.drop_held(x)
        return x, tuple(after)

    def _run(self, cell: nn.Module, x: Tensor, state: object) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run one layer, with weights dropped while it is trained."""
        found: tuple[Tensor, tuple[Tensor, ...]]
        on_cpu = x.device.type == "cpu"  # many have no cells in bfloat16
        with torch.autocast(x.device.type, enabled=autocasts(x) and not on_cpu):
            x = x.float() if on_cpu and x.dtype == torch.bfloat16 else x
            if not self.training or not self.recurrent:
                found = cell(x, state)
            else:
                weight = nn.functional.dropout(cell.weight_hh_l0, self.recurrent)  # type: ignore[arg-type]
                found = torch.func.functional_call(cell, {"weight_hh_l0": weight}, (x, state))
        return found


@body("rnn")
@dataclass(eq=False, repr=False)
class SimpleRecurrent(Recurrent):
    """Layers of tanh cells.

        h(i) = tanh(W x(i) + b + U h(i-1) + c)

    Reference     Elman, Finding structure in time, 1990; Mikolov et al., Recurrent neural network based
                  language model, 2010.
    """

    cell = nn.RNN


@body("gru")
@dataclass(eq=False, repr=False)
class GatedRecurrent(Recurrent):
    """Layers of gated recurrent units.

        r = sigmoid(W_r x + b_r + U_r h + c_r),   z = sigmoid(W_z x + b_z + U_z h + c_z)
        n = tanh(W_n x + b_n + r * (U_n h + c_n)),   h' = (1 - z) * n + z * h

    Reference     Cho et al., Learning phrase representations using RNN encoder-decoder, 2014.
    """

    cell = nn.GRU


@body("lstm")
@dataclass(eq=False, repr=False)
class LongShortTerm(Recurrent):
    """Layers of cells with a long and a short memory.

        i, f, o = sigmoid(W x + b + U h + c), each with its own weights,   g = tanh(W_g x + b_g + U_g h + c_g)
        c' = f * c + i * g,   h' = o * tanh(c')

    Reference     Hochreiter and Schmidhuber, Long short-term memory, 1997; Gers, Schmidhuber and Cummins,
                  Learning to forget, 2000 (f).
    """

    cell = nn.LSTM
    states = 2
