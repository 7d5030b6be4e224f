"""Compiled primitives that everything else is built from."""
