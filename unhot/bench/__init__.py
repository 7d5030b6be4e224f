"""Measure on your own data which output layer learns best in the same time.

Names are loaded when they are first used, because they need the compiler.
"""

from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.bench.outputs import compare_outputs
    from unhot.bench.results import Comparison, Measured, Settings

__all__ = ["Comparison", "Measured", "Settings", "compare_outputs"]

__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, ".outputs"))
