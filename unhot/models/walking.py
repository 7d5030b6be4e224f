"""Learning from random walks on a graph: a walk is a sentence, a node is a word."""

from __future__ import annotations

from typing import Any

from unhot.corpus.cells import Cells
from unhot.errors import ConfigError
from unhot.graphs.walks import GraphWalks, no_walks
from unhot.models.fitting import Tells
from unhot.models.skipgram import CentreFeeder, ContextsFeeder
from unhot.models.wiring import Wiring
from unhot.train.torch_batches import centre_pairs, context_pairs

WIDEST = 100.0  # p and q are at most this, and at least 1 / this: otherwise walks would be rejected for ever


def check_walks(model: Any) -> None:
    """Raise a `ConfigError` if settings of walks (`WalkFields`) contradict each other."""
    for name in ("p", "q"):
        if not 1 / WIDEST <= getattr(model, name) <= WIDEST:
            raise ConfigError(f"{name}={getattr(model, name)}: must be from {1 / WIDEST:g} to {WIDEST:g}")
    if model.layer.part_words() is not None:
        raise ConfigError(
            f"output={model.layer.name}: cuts a text into parts, but walks are made while they are "
            "trained on; use another layer"
        )


def walk_wiring(model: Any) -> Wiring:
    """Return which nodes predict which, as in skip-gram."""
    around = 2 * model.window
    if model.layer.predicts == "centre":
        return Wiring(CentreFeeder, centre_pairs, inputs=around, listed=around, no_text=no_walks)
    return Wiring(ContextsFeeder, context_pairs, targets=around, listed=around, no_text=no_walks)


def walks_on(model: Any, graph: Cells, tells: Tells) -> GraphWalks:
    """Return the walks on a graph, and tell if many of them are short."""
    walks = GraphWalks(graph, model.walks, model.length, model.p, model.q)
    if walks.sinks:
        mean = walks.words * model.length / walks.ids
        both = "" if walks.graph.is_symmetric() else ", or use edges in both directions (--no-directed)"
        tells.say(
            f"{walks.sinks:,} of {len(walks.vocabulary):,} nodes have no outgoing edge: walks from them "
            f"have one node, and others end there; a walk has {mean:.1f} of {model.length} nodes on "
            f"average. If that is too little to learn from, raise --walks{both}"
        )
    return walks
