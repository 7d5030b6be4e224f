"""Measurements on your own data: which output layer learns best in the same time.

Names are loaded when they are first used: they need the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unhot.bench.outputs import compare_outputs
    from unhot.bench.results import Comparison, Measured
    from unhot.bench.settings import Settings

__all__ = ["Comparison", "Measured", "Settings", "compare_outputs"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'unhot.bench' has no attribute {name!r}")
    from unhot.bench import outputs

    return getattr(outputs, name)
