"""lstm: long short-term memory.

    i, f, o = sigmoid(W x + b + U h + c), each with its own weights,   g = tanh(W_g x + b_g + U_g h + c_g)
    c' = f * c + i * g,   h' = o * tanh(c')

Reference     Hochreiter and Schmidhuber, Long short-term memory, 1997; Gers, Schmidhuber and Cummins,
              Learning to forget, 2000 (f).
"""

from dataclasses import dataclass

from torch import nn

from unhot.nn.bodies.body import body
from unhot.nn.bodies.recurrent import Recurrent


@body("lstm")
@dataclass(eq=False, repr=False)
class LongShortTerm(Recurrent):
    """Layers of cells with a long and a short memory."""

    cell = nn.LSTM
    states = 2
