"""Models that learn from random walks on a graph: a walk is a sentence, a node is a word."""

import dataclasses
from typing import Annotated, Any

from unhot.corpus.cells import Cells
from unhot.errors import ConfigError
from unhot.graphs.walks import GraphWalks, no_walks
from unhot.kernels.bags import Bags
from unhot.models.fitting import Begins, Tells
from unhot.models.settings import Range
from unhot.models.skipgram import CentreFeeder, ContextsFeeder
from unhot.models.window_model import WindowModel
from unhot.models.wiring import Wiring
from unhot.train.epoch_run import EpochRun
from unhot.train.torch_batches import centre_pairs, context_pairs

WIDEST = 100.0  # p and q are at most this, and at least 1 / this: otherwise walks would be rejected for ever


@dataclasses.dataclass(kw_only=True)
class WalkModel(WindowModel):
    """Settings of a model that learns from walks."""

    walks: Annotated[int, Range(1, 1 << 20)] = 10  # walks from each node in an epoch; each epoch has new ones
    length: Annotated[int, Range(2, 1 << 20)] = 40  # nodes of a walk
    p: Annotated[float, Range(0)] = 1.0  # node2vec: 1 / p is how often a walk goes back to where it came from
    # node2vec: 1 / q is how often a walk goes to a node that is no neighbour of where it came from; with
    # p = q = 1 a step depends on the last node alone, as in DeepWalk
    q: Annotated[float, Range(0)] = 1.0
    sample: Annotated[float, Range(0)] = 0.0  # threshold of sub-sampling frequent nodes; 0 turns it off

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        for name in ("p", "q"):
            if not 1 / WIDEST <= getattr(self, name) <= WIDEST:
                raise ConfigError(f"{name}={getattr(self, name)}: must be from {1 / WIDEST:g} to {WIDEST:g}")

    def check_engine(self) -> None:
        """Raise a `ConfigError` if the settings contradict each other."""
        if self.layer.part_words() is not None:
            raise ConfigError(
                f"output={self.layer.name}: cuts a text into parts, but walks are made while they are "
                "trained on; use another layer"
            )
        super().check_engine()

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return which nodes predict which, as in skip-gram."""
        around = 2 * self.window
        if self.predicts == "centre":
            return Wiring(CentreFeeder, centre_pairs, inputs=around, listed=around, no_text=no_walks)
        return Wiring(ContextsFeeder, context_pairs, targets=around, listed=around, no_text=no_walks)

    def begin(self, data: Any, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the engine and its run on walks."""
        walks = GraphWalks(self.graph(data, tells), self.walks, self.length, self.p, self.q)
        if walks.sinks:
            mean = walks.words * self.length / walks.ids
            both = "" if walks.graph.is_symmetric() else ", or use edges in both directions (--no-directed)"
            tells.say(
                f"{walks.sinks:,} of {len(walks.vocabulary):,} nodes have no outgoing edge: walks from them "
                f"have one node, and others end there; a walk has {mean:.1f} of {self.length} nodes on "
                f"average. If that is too little to learn from, raise --walks{both}"
            )
        return super().begin(walks, begins, tells)  # type: ignore[arg-type]

    def graph(self, data: Any, tells: Tells) -> Cells:
        """Return the graph to walk on, whose nodes are the words of the opened input."""
        assert isinstance(data, Cells)
        return data
