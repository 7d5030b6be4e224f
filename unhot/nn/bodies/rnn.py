"""rnn: the simple recurrent network.

    h(i) = tanh(W x(i) + b + U h(i-1) + c)

Reference     Elman, Finding structure in time, 1990; Mikolov et al., Recurrent neural network based language
              model, 2010.
"""

from dataclasses import dataclass

from torch import nn

from unhot.nn.bodies.body import body
from unhot.nn.bodies.recurrent import Recurrent


@body("rnn")
@dataclass(eq=False, repr=False)
class SimpleRecurrent(Recurrent):
    """Layers of tanh cells."""

    cell = nn.RNN
