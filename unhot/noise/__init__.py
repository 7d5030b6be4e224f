"""Distributions over ids, from which output layers draw."""
