"""Output layers: the softmax over a big vocabulary and its cheaper alternatives, all exchangeable.

Importing this package registers every layer in this folder.
"""

import importlib
import pkgutil

from unhot.outputs.head import Head
from unhot.outputs.layer import LAYERS, OutputLayer, output, parse_output

__all__ = ["LAYERS", "Head", "OutputLayer", "output", "parse_output"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
