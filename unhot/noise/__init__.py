"""Distributions over ids, from which output layers draw.

    q                 rules.py (unigram, uniform, log-uniform), from_file.py, learned.py; choose.py picks one
                      by its name
    draws from q      alias.py (inside kernels), distribution.py (`Noise`, for Python), distinct.py (without
                      replacement)
    counts c          expected.py: how often each id is to be expected among k draws

    >>> from unhot.noise import Noise
    >>> noise = Noise([0.7, 0.2, 0.1])
    >>> noise.draw(3, seed=1, unique=True).shape
    (3,)

`Noise` is loaded on first use, with the compiler; the rules do without.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unhot.noise.distribution import Noise

__all__ = ["Noise"]


def __getattr__(name: str) -> Any:
    """Load `Noise` on first use."""
    if name == "Noise":
        return importlib.import_module("unhot.noise.distribution").Noise
    raise AttributeError(f"module 'unhot.noise' has no attribute {name!r}")
