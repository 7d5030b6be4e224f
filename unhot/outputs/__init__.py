"""Output layers: exchangeable ways around the softmax over a big vocabulary. Importing this registers all of them."""

from unhot.outputs.layer import LAYERS, OutputLayer, output, parse_output
from unhot.outputs.negative import NegativeSampling

__all__ = ["LAYERS", "NegativeSampling", "OutputLayer", "output", "parse_output"]
