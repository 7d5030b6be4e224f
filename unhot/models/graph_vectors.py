"""Vectors of the nodes of a graph: skip-gram on random walks (DeepWalk, node2vec).

    L = sum of loss(x_v, u) over the nodes u that stand near v on walks     (graphs/walks.py)

    deepwalk    p = q = 1: a step is drawn by the weights of the arcs alone
    node2vec    p and q also say whether a walk stays near where it came from, or leaves

The walks of an epoch are new ones, and are never written down.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from unhot.corpus.cells import Cells
from unhot.errors import ConfigError, DataError, FormatError
from unhot.graphs.reading import edges_of, read_graph, without_edges
from unhot.models.fitting import Reads, Tells, are_texts, names_of, nobody, opened
from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.text_model import compile_kernels
from unhot.models.walk_model import WalkModel
from unhot.outputs import OutputLayer
from unhot.train.checkpoint import fingerprint
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary


@model("graph-vectors", family="graph")
@dataclasses.dataclass(kw_only=True)
class GraphVectors(WalkModel):
    """Node vectors from random walks.

    >>> model = GraphVectors(dim=8, epochs=1).fit([("a", "b"), ("b", "c"), ("c", "a")])
    >>> model.vectors["a"].shape
    (8,)
    """

    dim: Annotated[int, Range(1, 1 << 20)] = 128  # length of each vector
    window: Annotated[int, Range(1, 10_000)] = 10  # nodes on each side of the centre node
    output: str | OutputLayer = "negative:k=10"  # output layer
    directed: bool = False  # an edge leads from its source to its target alone
    # the format of the graph: by default what its name and its first lines say; edges: two nodes per line,
    # and maybe a weight; adjacency: a node, then its neighbors
    format: Literal["csv", "tsv", "jsonl", "parquet", "edges", "adjacency"] | None = None
    # the column of the sources of edges, if it is not called source, from or src; in text without a header,
    # the number of the column, from 1 on
    sources: str | None = None
    targets: str | None = None  # the column of their targets, if it is not called target, to or dst
    # the column of their weights, if it is not called weight, value or count; none: ignore weights
    weight: str | None = None
    hold_out: Annotated[float, Range(0)] = 0.0  # share of the edges that are held out to test link prediction
    strict: bool = False  # stop at the first bad row instead of counting bad rows

    default_lr = 0.025
    unit = "steps"
    use = "try: unhot neighbors {0} NODE, or unhot graph evaluate {0} --labels FILE"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._paths: list[str] | None = None  # of the graph
        self._checksum: str | None = None
        if not 0 <= self.hold_out < 1:
            raise ConfigError(f"hold_out={self.hold_out}: must be a share from 0 to below 1")

    @contextlib.contextmanager
    def open_input(self, reads: Reads, tells: Tells) -> Iterator[Cells]:
        """Read the graph, and compile the kernels."""
        if any(given is not None for given in (reads.counts, reads.column, reads.phrases)):
            raise ConfigError(f"counts, column or phrases: {self.name} learns from a graph; leave these out")
        self.check_task()
        graph = self._read(reads.source, reads.force, tells)
        tells.say(f"a graph of {len(graph.vocabulary):,} nodes and {edges_of(graph)[0].size:,} edges")
        compile_kernels(self, tells)
        self._paths, self._checksum = names_of(reads.source), fingerprint(graph)
        yield graph

    def _read(self, source: Any, force: bool, tells: Tells) -> Cells:
        return read_graph(
            source,
            directed=self.directed,
            format=self.format,
            columns=(self.sources, self.targets, self.weight),
            strict=self.strict,
            force=force,
            threads=self.threads,
            progress=tells.reading,
            tell=tells.say,
            note=tells.warn,
        )

    def graph(self, data: Cells, tells: Tells) -> Cells:
        """Return the graph to walk on: without the edges that are held out."""
        return self.known_part(data)

    def known_part(self, graph: Cells) -> Cells:
        """Return a graph without the edges that the model does not see: the same ones every time."""
        return without_edges(graph, self.hold_out, self.seed) if self.hold_out else graph

    def graph_again(self) -> Cells:
        """Read the graph that `fit` was given again; raise a `DataError` if it has changed."""
        if not self._paths:
            raise DataError(
                "a saved model does not know where its graph was: give the graph (unhot graph evaluate MODEL "
                "GRAPH)"
            )
        source = self._paths[0] if len(self._paths) == 1 else self._paths
        graph = self.read_again(source)
        if not self.learned_from_graph(graph):
            raise DataError(f"{', '.join(self._paths)}: has changed since the model was trained: train again")
        return graph

    def read_again(self, source: Any) -> Cells:
        """Read a graph as the graph of the training was read."""
        return self._read(opened(source), True, Tells(note=nobody))

    def learned_from_graph(self, graph: Cells) -> bool:
        """Return whether a graph is the one that the model learned from."""
        return fingerprint(graph) == self._checksum

    def facts(self) -> dict[str, Any]:
        """Return a checksum of the graph; its path is not saved."""
        return {**super().facts(), "graph": {"checksum": self._checksum}}

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model."""
        super().take(saved)
        facts = saved.config.get("graph")
        if not isinstance(facts, dict) or not (facts.get("paths") is None or are_texts(facts["paths"])):
            raise FormatError("a model without facts about its graph: config.json is damaged")
        self._paths, self._checksum = None, facts.get("checksum")

    def text_words(self) -> Vocabulary | None:
        """Return None: when a training is resumed, the nodes are counted again."""
        return None
