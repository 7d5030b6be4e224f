"""Vectors of the nodes of a graph: skip-gram on random walks (DeepWalk, node2vec).

    L = sum of loss(x_v, u) over the nodes u that stand near v on walks     (graphs/walks.py)

    deepwalk    p = q = 1: a step is drawn by the weights of the arcs alone
    node2vec    p and q also say whether a walk stays near where it came from, or leaves

The walks of an epoch are new ones, and are never written down.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

from unhot.corpus.cells import Cells
from unhot.errors import ConfigError, DataError, FormatError
from unhot.graphs.reading import edges_of, read_graph, without_edges
from unhot.graphs.walks import GraphWalks, no_walks
from unhot.kernels.windows import Window
from unhot.models.engine import Wiring, near_words
from unhot.models.fitting import (
    Begins,
    InEpochs,
    Note,
    Reading,
    Reads,
    Tells,
    are_texts,
    names_of,
    nobody,
    opened,
)
from unhot.models.learned_words import LearnedWords, learned_from
from unhot.models.model import Model, model
from unhot.models.settings import Range, WalkFields, WindowFields
from unhot.models.skipgram import skipgram_wiring
from unhot.models.text_model import compiling
from unhot.models.windows import (
    check_machine,
    check_start,
    check_windows,
    warm_up_windows,
    window_training,
)
from unhot.models.word_answers import WordAnswers
from unhot.outputs import Head, OutputLayer, parse_output
from unhot.train.checkpoint import Checkpoint, fingerprint
from unhot.train.progress import Callback
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors

LR = 0.025  # the default learning rate
WIDEST = 100.0  # p and q are at most this, and at least 1 / this: otherwise walks would be rejected for ever


class GraphData(NamedTuple):
    """A graph to learn from."""

    text: Cells
    paths: list[str] | None  # its files; None: it did not come from files


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class LearnedNodes(LearnedWords):
    """The vectors of nodes, and which graph they are of."""

    checksum: str | None  # of the graph
    paths: list[str] | None = None  # its files, which are not saved

    def facts(self) -> dict[str, Any]:
        """Return a checksum of the graph, in addition to what is known of the words."""
        return {**super().facts(), "graph": {"checksum": self.checksum}}


def walk_wiring(model: Any) -> Wiring:
    """Return which nodes predict which, as in skip-gram."""
    window = Window(model.window, model.shrink)
    return skipgram_wiring(model.layer.predicts, window)._replace(no_text=no_walks)


@model("graph-vectors", family="graph")
@dataclasses.dataclass(kw_only=True)
class GraphVectors(WalkFields, WindowFields, Model[LearnedNodes, WordAnswers]):
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
    format: (
        Literal["csv", "tsv", "csv-unquoted", "tsv-unquoted", "jsonl", "parquet", "edges", "adjacency"] | None
    ) = None
    header: str | None = None  # the columns of CSV or TSV without a header line, such as source,target,weight
    separator: str | None = None  # what is between the fields of CSV or TSV, such as ; or tab
    # the column of the sources of edges, if it is not called source, from or src; in text without a header,
    # the number of the column, from 1 on
    sources: str | None = None
    targets: str | None = None  # the column of their targets, if it is not called target, to or dst
    # the column of their weights, if it is not called weight, value or count; none: ignore weights
    weight: str | None = None
    hold_out: Annotated[float, Range(0)] = 0.0  # share of the edges that are held out to test link prediction
    strict: bool = False  # stop at the first bad row instead of counting bad rows

    unit = "steps"
    starts = True
    own_words = False
    use = "try: unhot neighbors {0} NODE, or unhot graph evaluate {0} --labels FILE"

    warm_up = warm_up_windows
    wiring = walk_wiring

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find the output layer."""
        self.layer = parse_output(self.output)
        check_walks(self)
        check_windows(self)
        if not 0 <= self.hold_out < 1:
            raise ConfigError(f"hold_out={self.hold_out}: must be a share from 0 to below 1")

    def fit(
        self,
        source: Any,
        *,
        start: Any = None,
        frozen: str | Iterable[str] | None = None,
        checkpoint: Checkpoint | None = None,
        progress: bool = False,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> Self:
        """Learn from a graph: files, edges from Python, a matrix, or a networkx graph (see `read_graph`).

        start       vectors to start from, for the nodes that have one; or a model to train further
        frozen      nodes whose input vectors must not change; "known": all nodes of `start`
        checkpoint  where and how often to save the state, to `resume` from
        progress    show the progress: a bar on a terminal or in a notebook, elsewhere a line for each epoch
        callbacks   functions called with a `Progress` after every chunk and every epoch
        reading     function called with the bytes read and the total while the graph is read
        note        function called with lines about what goes on; None: the lines are logged or, with
                    `progress`, shown
        directory   not used: walks are made on the fly
        force       read files even if they do not look like text
        """
        return super().fit(
            source,
            start=start,
            frozen=frozen,
            checkpoint=checkpoint,
            progress=progress,
            callbacks=callbacks,
            reading=reading,
            note=note,
            directory=directory,
            force=force,
        )

    @contextlib.contextmanager
    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> Iterator[GraphData]:
        """Read the graph, and compile the kernels."""
        check_start(self, begins)
        check_machine(self)
        graph = self.read(reads.source, tells, force=reads.force)
        tells.say(f"a graph of {len(graph.vocabulary):,} nodes and {edges_of(graph)[0].size:,} edges")
        compiling(self, tells)()
        yield GraphData(graph, names_of(reads.source))

    def read(self, source: Any, tells: Tells | None = None, *, force: bool = True) -> Cells:
        """Read a graph as the settings say."""
        told = tells or Tells(note=nobody)
        return read_graph(
            opened(source),
            directed=self.directed,
            format=self.format,
            header=self.header,
            separator=self.separator,
            columns=(self.sources, self.targets, self.weight),
            strict=self.strict,
            force=force,
            threads=self.threads,
            progress=told.reading,
            tell=told.say,
            note=told.warn,
        )

    def training(self, data: GraphData, begins: Begins, tells: Tells) -> InEpochs[LearnedNodes]:
        """Return a training on walks on the graph without the edges that are held out."""
        checksum = fingerprint(data.text)

        def whole(words: LearnedWords) -> LearnedNodes:
            return LearnedNodes(**vars(words), checksum=checksum, paths=data.paths)

        windows = near_words(walks_on(self, self.known_part(data.text), tells))
        more: dict[str, Any] = {"chosen": {"lr": self.lr or LR, "output": self.layer.spec()}, "whole": whole}
        return window_training(self, self.wiring(), windows, begins, tells, usual_lr=LR, **more)

    def make_answers(self, learned: LearnedNodes) -> WordAnswers:
        """Return what answers questions about the nodes."""
        return WordAnswers(learned)

    def restore(self, saved: SavedModel) -> LearnedNodes:
        """Return what a saved model had learned."""
        learned, facts = learned_from(saved, self.layer, self.dim), saved.config.get("graph")
        if not isinstance(facts, dict) or not (facts.get("paths") is None or are_texts(facts["paths"])):
            raise FormatError("a model without facts about its graph: config.json is damaged")
        return LearnedNodes(**vars(learned), checksum=facts.get("checksum"))

    def known_part(self, graph: Cells) -> Cells:
        """Return a graph without the edges that the model does not see: the same ones every time."""
        return without_edges(graph, self.hold_out, self.seed) if self.hold_out else graph

    def graph_again(self) -> Cells:
        """Read the graph that `fit` was given again; raise a `DataError` if it has changed."""
        paths = self.learned.paths
        if not paths:
            raise DataError(
                "a saved model does not know where its graph was: give the graph (unhot graph evaluate MODEL "
                "GRAPH)"
            )
        graph = self.read(paths[0] if len(paths) == 1 else paths)
        if not self.learned_from_graph(graph):
            raise DataError(f"{', '.join(paths)}: has changed since the model was trained: train again")
        return graph

    def learned_from_graph(self, graph: Cells) -> bool:
        """Return whether a graph is the one that the model learned from."""
        return fingerprint(graph) == self.learned.checksum

    @property
    def vectors(self) -> Vectors:
        """The vectors of nodes."""
        return self.answers.vectors

    @property
    def out_vectors(self) -> Vectors:
        """The output vectors; raises a `ConfigError` unless the layer has one for each node."""
        return self.answers.out_vectors

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """Return the nodes most likely to stand near the given ones on walks, with their probabilities."""
        return self.answers.predict_word(context, topn)

    @property
    def head(self) -> Head:
        """The trained output layer."""
        return self.answers.head


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
