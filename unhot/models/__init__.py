"""Models: their settings and `fit`."""
