"""gru: gated recurrent units.

    r = sigmoid(W_r x + b_r + U_r h + c_r),   z = sigmoid(W_z x + b_z + U_z h + c_z)
    n = tanh(W_n x + b_n + r * (U_n h + c_n)),   h' = (1 - z) * n + z * h

Reference     Cho et al., Learning phrase representations using RNN encoder-decoder, 2014.
"""

from dataclasses import dataclass

from torch import nn

from unhot.nn.bodies.body import body
from unhot.nn.bodies.recurrent import Recurrent


@body("gru")
@dataclass(eq=False, repr=False)
class GatedRecurrent(Recurrent):
    """Layers of gated recurrent units."""

    cell = nn.GRU
