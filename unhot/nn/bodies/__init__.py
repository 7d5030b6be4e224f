"""Bodies of neural language models: they turn the words so far into a hidden vector.

Importing the package registers its bodies.
"""

from unhot.nn.bodies import bengio, cnn, recurrent, transformer
from unhot.nn.bodies.body import BODIES, Body, body, parse_body

__all__ = ["BODIES", "Body", "bengio", "body", "cnn", "parse_body", "recurrent", "transformer"]
