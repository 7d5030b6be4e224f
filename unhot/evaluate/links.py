"""Predict edges of a graph that were held out, among pairs of nodes that are no edges.

    cosine    of the two vectors
    inner     how much each node predicts the other, in the mean of both directions: x_u . o_v and x_v . o_u;
              in a directed graph x_u . o_v alone

As many pairs as edges are drawn, all equally likely, that are no edge of the whole graph.

    AUC                  how often an edge has a higher score than such a pair; half of the ties count
    average precision    mean over the edges of the share of edges among all that stand as high as it
"""

import dataclasses

import numpy as np

from unhot.corpus.cells import Cells
from unhot.errors import ConfigError, DataError
from unhot.evaluate.figures import Figures, Interval, mean_interval
from unhot.graphs.reading import edges_of
from unhot.index.lengths import units
from unhot.models.graph_vectors import GraphVectors
from unhot.types import Counts, Doubles

TRIES = 100  # rounds of draws for pairs that are no edges


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinkPrediction(Figures):
    """How well held-out edges are found."""

    edges: int
    cosine_auc: float
    cosine_auc_interval: Interval  # over the edges
    cosine_average_precision: float
    inner_auc: float | None  # None: the output layer has no vector for each node
    inner_auc_interval: Interval | None
    inner_average_precision: float | None


def predict_links(model: GraphVectors, graph: Cells | None = None, *, seed: int = 1) -> LinkPrediction:
    """Ask a model that was trained with `hold_out` for the edges that were held out.

    graph   the graph of the training; None: it is read again, after `fit` alone
    """
    if not model.hold_out:
        raise ConfigError("hold_out=0: this model has learned all edges; train it with hold_out=0.1")
    graph = model.graph_again() if graph is None else graph
    left = model.known_part(graph)
    all_edges, known = _keys(graph), _keys(left)
    held = np.setdiff1d(all_edges, known, assume_unique=True)
    others = _no_edges(graph, all_edges, held.size, seed)
    pairs = np.divmod(np.append(held, others), len(graph.vocabulary))
    rows, inner = units(model.vectors.vectors), _inner(model, graph, *pairs)
    cosines = _dots(rows[pairs[0]], rows[pairs[1]])
    auc, interval, precision = _figures(cosines, held.size)
    found = _figures(inner, held.size) if inner.size else (None, None, None)
    return LinkPrediction(
        edges=held.size,
        cosine_auc=auc,
        cosine_auc_interval=interval,
        cosine_average_precision=precision,
        inner_auc=found[0],
        inner_auc_interval=found[1],
        inner_average_precision=found[2],
    )


def _keys(graph: Cells) -> Counts:
    """Return one number for each edge."""
    rows, columns = edges_of(graph)
    return rows.astype(np.int64) * len(graph.vocabulary) + columns


def _no_edges(graph: Cells, edges: Counts, number: int, seed: int) -> Counts:
    rng, nodes = np.random.default_rng(seed), len(graph.vocabulary)
    found = np.zeros(0, np.int64)
    for _ in range(TRIES):
        a, b = rng.integers(nodes, size=(2, 2 * number + 10))
        low, high = (np.minimum(a, b), np.maximum(a, b)) if graph.is_symmetric() else (a, b)
        new = np.setdiff1d((low * nodes + high)[low != high], edges)
        found = np.union1d(found, new)
        if found.size >= number:
            return rng.permutation(found)[:number]
    raise DataError("nearly all pairs of nodes are edges: no other pairs are left to compare with")


def _inner(model: GraphVectors, graph: Cells, a: Counts, b: Counts) -> Doubles:
    if not model.layer.rows_are_words:
        return np.zeros(0)
    params = model.learned.params
    x, o = params.in_vectors.astype(np.float64), params.out_vectors.astype(np.float64)
    x = units(x) if model.layer.by_cosine() else x  # the output vectors of such layers have length 1
    there = _dots(x[a], o[b])
    return (there + _dots(x[b], o[a])) / 2 if graph.is_symmetric() else there


def _dots(a: Doubles, b: Doubles) -> Doubles:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _figures(scores: Doubles, held: int) -> tuple[float, Interval, float]:
    """Return AUC, its interval, and the average precision; the scores of `held` edges come first."""
    edges, others = scores[:held], np.sort(scores[held:])
    below, upto = np.searchsorted(others, edges, "left"), np.searchsorted(others, edges, "right")
    wins = (below + upto) / (2 * others.size)
    as_high = edges.size - np.searchsorted(np.sort(edges), edges, "left")  # edges, itself among them
    precision = as_high / (as_high + others.size - below)
    return float(wins.mean()), mean_interval(wins), float(precision.mean())
