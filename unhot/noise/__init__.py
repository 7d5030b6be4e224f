"""Noise: distributions q over word ids, from which output layers draw.

    q                 rules.py (unigram, uniform, log-uniform); choose.py finds a distribution by its name, or
                      reads it from a file
    draws from q      alias.py (inside kernels), distribution.py (`Noise`, for Python; without replacement)
    counts c          expected.py: how often each id is expected among k draws

    >>> from unhot.noise import Noise
    >>> noise = Noise([0.7, 0.2, 0.1])
    >>> noise.draw(3, seed=1, unique=True).shape
    (3,)

`Noise` is loaded on first use, because it needs the compiler; the rules do not.
"""

from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.noise.distribution import Noise

__all__ = ["Noise"]

__getattr__ = lazy_names(__name__, {"Noise": ".distribution"})
