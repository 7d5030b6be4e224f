"""Kernels are compiled on first use, which no deadline of an example can know."""

from hypothesis import settings

settings.register_profile("corpus", deadline=None)
settings.load_profile("corpus")
