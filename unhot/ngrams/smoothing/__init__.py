"""Ways to smooth the counts of n-grams: one file each, with its formula, registered by name."""

import importlib
import pkgutil

from unhot.ngrams.smoothing.smoothing import SMOOTHINGS, Smoothing, parse_smoothing

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")  # importing a smoothing registers it

__all__ = ["SMOOTHINGS", "Smoothing", "parse_smoothing"]
