"""Kernels are compiled on first use, which no deadline of an example can know.

`small_corpora` is imported by its bare name.
"""

import sys
from pathlib import Path

from hypothesis import settings

settings.register_profile("corpus", deadline=None)
settings.load_profile("corpus")

sys.path.insert(0, str(Path(__file__).resolve().parent))
