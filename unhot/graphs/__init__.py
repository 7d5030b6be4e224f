"""Graphs as cells, and random walks on them."""

from unhot.graphs.reading import read_graph
from unhot.graphs.walks import GraphWalks

__all__ = ["GraphWalks", "read_graph"]
