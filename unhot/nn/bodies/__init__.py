"""Bodies of neural language models: they turn the words so far into a hidden vector."""

from unhot.nn.bodies import bengio, cnn, recurrent, transformer
from unhot.nn.bodies.body import BODIES as BODIES
from unhot.nn.bodies.body import Body as Body
from unhot.nn.bodies.body import body as body
from unhot.nn.bodies.body import parse_body as parse_body

_ = (bengio, cnn, recurrent, transformer)  # importing a body registers it
