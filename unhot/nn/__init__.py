"""Output layers as PyTorch modules, and TensorFlow's candidate sampling functions for PyTorch.

`OutputHead` turns hidden vectors and targets into a loss, with any layer of `unhot.outputs`. It uses the same
tables as the compiled kernels.
"""

import importlib
import pkgutil

from unhot.errors import extra

extra("torch", "torch", "unhot.nn")

from unhot.nn import functional  # noqa: E402  # torch is there now
from unhot.nn.head import OutputHead, OutputRows, head_for  # noqa: E402

__all__ = ["OutputHead", "OutputRows", "functional", "head_for"]

for _module in pkgutil.iter_modules(__path__):  # importing a module registers its heads
    importlib.import_module(f"{__name__}.{_module.name}")
