"""Anything to a graph: edge lists, lists of neighbours, tables, networkx graphs, SciPy matrices, sessions.

A graph is a matrix of cells: X[v, x] is the weight of the arc from v to x. The count of a node is the weight
of the arcs that come in, divided by the mean weight: about how often walks visit it. So the nodes that are
visited most have the lowest ids.

An undirected edge is an arc each way. An edge that is listed several times is one edge. If there are weights,
they are added up; without weights each edge has the weight 1. An edge from a node to itself is one arc.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.errors import DataError
from unhot.graphs.edge_forms import open_edges
from unhot.logs.events import read_events
from unhot.logs.log import ranked
from unhot.logs.log_reading import LogReading
from unhot.types import Counts, Doubles, Ids
from unhot.vocab.vocabulary import decode_word

# names of columns; what reads logs calls the two ends of an edge user and item
COLUMNS = {
    "user": (
        *("source", "src", "from", "node1", "user", "fromnodeid", "sourceid", "sourcenode", "fromid"),
        *("fromnode", "nodeid1", "id1", "startid", "user1", "userid1"),
    ),
    "item": (
        *("target", "dst", "to", "node2", "item", "tonodeid", "targetid", "targetnode", "toid"),
        *("tonode", "nodeid2", "id2", "endid", "user2", "userid2"),
    ),
    "weight": ("weight", "value", "count"),
}
NONE = "none"  # in place of the column of weights: edges have none
BLOCK = 1 << 20  # arcs that are renumbered at a time
TITLES = {"user": "sources", "item": "targets"}  # settings of `GraphVectors`
FORMATS = {"adjacency": "user-sessions"}  # names of formats that logs have under another name


def read_graph(
    source: Any,
    *,
    directed: bool = False,
    format: str | None = None,
    header: str | Sequence[str] | None = None,
    separator: str | None = None,
    columns: tuple[str | None, str | None, str | None] = (None, None, None),
    strict: bool = False,
    force: bool = False,
    threads: int = 2,
    progress: Callable[[int, int | None], None] | None = None,
    tell: Callable[[str], None] = lambda line: None,
    note: Callable[[str], None] = lambda line: None,
) -> Cells:
    """Return a graph as cells.

    source     a file of edges (CSV, TSV, JSON lines, parquet, Matrix Market, or words with white space
               between them: two nodes, maybe a weight and more; see edge_forms.py), an adjacency list
               (a line holds a node, then its neighbors), a table, an iterable of tuples (source, target[,
               weight]) or an array of them, a networkx graph, a SciPy matrix, an encoded text or log
               (neighbors are what stands side by side), or cells
    directed   an edge leads from its source to its target alone
    format     csv, tsv, jsonl, parquet, edges, adjacency; None: by its name and its first lines
    header     the names of all columns of a text without a header line; separator: what is between them
    columns    the columns of the source, of the target, of the weight: their names, or their numbers, from 1
               on, in text without a header; None: the usual names, or the first columns; the weight may be
               "none": all edges have the weight 1
    strict     raise a `DataError` at the first bad row instead of counting bad rows
    tell       called with lines about what was recognized
    note       called with lines about what was left out

    >>> graph = read_graph([("a", "b"), ("b", "a"), ("b", "c")])
    >>> graph.vocabulary.words, graph.vocabulary.counts.tolist(), graph.columns.tolist()
    (['b', 'a', 'c'], [2, 1, 1], [1, 2, 0, 0])
    """
    if isinstance(source, Cells):
        return source
    if isinstance(source, Corpus):
        return cooccurrences(source, window=1, weights="flat", sides="right" if directed else "both")
    if hasattr(source, "tocoo"):
        return _of_matrix(source.tocoo(), directed)
    if hasattr(source, "is_directed") and hasattr(source, "edges"):
        return _of_networkx(source, directed, note)
    if isinstance(source, np.ndarray):
        if source.ndim != 2 or source.shape[1] not in (2, 3):
            raise DataError(
                f"an array of shape {source.shape}: give one of [edges, 2], or 3 with weights; with PyTorch "
                "Geometric, edge_index.T.numpy()"
            )
        source = source.tolist()
    how = LogReading(
        user=columns[0],
        item=columns[1],
        weight=columns[2] if columns[2] != NONE else None,
        format=FORMATS.get(format or "", format),
        header=header,
        separator=separator,
        strict=strict,
        force=force,
        usual=COLUMNS if columns[2] != NONE else {**COLUMNS, "weight": ()},
        titles=TITLES,
        edges=True,
    )
    events = read_events(source, how, threads=threads, progress=progress, opener=open_edges)
    for line in events.report.said():
        tell(line)
    for line in events.report.lines():
        note(line)
    # cells may have spaces around them: "a, b"
    words = [*dict.fromkeys(word.strip() for word in chain(events.user_words, events.item_words))]
    index = {word: number for number, word in enumerate(words)}
    if alone := {*map(decode_word, events.report.lone)} - index.keys():
        note(f"nodes without neighbors, which were left out: {len(alone):,}, such as {min(alone):.60}")
    sources, targets = (
        np.array([index[word.strip()] for word in named], np.int32)[ids]
        for named, ids in ((events.user_words, events.users), (events.item_words, events.items))
    )
    weights = events.weights
    del events, index  # they are large
    return graph_of(words, sources, targets, weights, directed=directed)


def _of_matrix(matrix: Any, directed: bool) -> Cells:
    """Return the graph of a square matrix; the names of the nodes are their numbers."""
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"a matrix of shape {matrix.shape}: a graph needs as many columns as rows")
    words = [*map(str, range(matrix.shape[0]))]
    if not directed and (abs(matrix - matrix.T)).max() > 0:
        raise DataError("a matrix that is not symmetric: its graph is directed (directed=True)")
    return graph_of(words, matrix.row, matrix.col, matrix.data, directed=True)


def _of_networkx(graph: Any, directed: bool, note: Callable[[str], None]) -> Cells:
    if graph.is_directed() != directed:
        kinds = ("an undirected graph", "a directed graph")
        raise DataError(
            f"{kinds[graph.is_directed()]} of networkx with directed={directed}: give directed="
            f"{graph.is_directed()}, or {'to_directed()' if directed else 'to_undirected()'} of the graph"
        )
    index = {node: number for number, node in enumerate(graph.nodes())}
    words = [*map(str, index)]
    if len({*words}) < len(words):
        twice = Counter(words).most_common(1)[0][0]
        raise DataError(f"two nodes are called {twice!r:.60} as text: names must differ as text")
    rows = [(index[a], index[b], weight) for a, b, weight in graph.edges(data="weight", default=1)]
    ends = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2)
    try:
        weights = np.array([row[2] for row in rows], np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"an edge has a weight that is not a number: {error}") from None
    good = (weights > 0) & np.isfinite(weights)
    if not good.all():
        note(f"edges whose weight is not above zero, which were left out: {np.count_nonzero(~good):,}")
    return graph_of(words, ends[good, 0], ends[good, 1], weights[good], directed=directed)


def graph_of(words: Sequence[str], sources: Any, targets: Any, weights: Any, *, directed: bool) -> Cells:
    """Return the graph of some edges between numbered nodes; empty weights: all are 1."""
    nodes, weights = len(words), np.asarray(weights, np.float64)
    bad = np.flatnonzero(~((weights > 0) & np.isfinite(weights)))
    if bad.size:
        raise DataError(f"edge {bad[0] + 1} has the weight {weights[bad[0]]:g}: weights must be above zero")
    if not len(sources):
        raise DataError("a graph without edges: nothing can be learned from it")
    keys = np.multiply(sources, nodes, dtype=np.int64) + targets
    if not directed:
        other = np.flatnonzero(sources != targets)
        keys = np.append(keys, np.multiply(targets[other], nodes, dtype=np.int64) + sources[other])
        weights = np.append(weights, weights[other]) if weights.size else weights
    keys, weights = _merged(keys, weights)
    heaviness = np.bincount(keys % nodes, weights if weights.size else None, nodes)
    mean = weights.mean() if weights.size else 1.0
    vocabulary, ids = ranked(words, np.maximum(np.rint(heaviness / mean), 1).astype(np.int64))
    ranks = ids.astype(np.int64)
    for at in range(0, keys.size, BLOCK):  # in place: a graph may be as large as memory allows
        rows, columns = np.divmod(keys[at : at + BLOCK], nodes)
        keys[at : at + BLOCK] = ranks[rows] * nodes + ranks[columns]
    keys, weights = _merged(keys, weights)
    starts = np.searchsorted(keys, np.arange(nodes + 1) * nodes)
    values = weights if weights.size else np.ones(keys.size)
    facts = {"sides": "right" if directed else "both"}
    return Cells.from_arrays(vocabulary, starts, (keys % nodes).astype(np.int32), values, facts)


def _merged(keys: Counts, weights: Doubles) -> tuple[Counts, Doubles]:
    """Return the different keys, rising, and the sums of their weights; the keys may be sorted in place."""
    if not weights.size:
        keys.sort()
        return keys[np.diff(keys, prepend=-1) > 0], weights
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(weights[order], first)


def edges_of(graph: Cells) -> tuple[Ids, Ids]:
    """Return the two ends of all arcs; of an undirected graph each edge once."""
    rows = np.repeat(np.arange(len(graph.vocabulary), dtype=np.int32), np.diff(graph.starts))
    once = rows <= graph.columns if graph.is_symmetric() else np.ones(rows.size, bool)
    return rows[once], np.asarray(graph.columns)[once]


def without_edges(graph: Cells, share: float, seed: int) -> Cells:
    """Return a graph without a share of its edges, drawn at random; no node loses its last edge.

    An edge of a directed graph goes together with the edge back, if there is one, which would tell of it.
    """
    rows, columns = edges_of(graph)
    nodes, wanted = len(graph.vocabulary), int(share * rows.size)
    left = (np.bincount(rows, minlength=nodes) + np.bincount(columns, minlength=nodes)).tolist()
    there, back = rows.astype(np.int64) * nodes + columns, columns.astype(np.int64) * nodes + rows
    # in a symmetric graph each edge is listed once
    double = np.isin(back, there) & (rows != columns)
    kept = np.ones(rows.size, bool)
    for edge in np.random.default_rng(seed).permutation(rows.size).tolist():
        a, b = int(rows[edge]), int(columns[edge])
        number = 1 + int(double[edge])
        if wanted >= number and a != b and left[a] > number and left[b] > number:
            if number == 2 and b < a:  # drawn by the edge back
                continue
            kept[edge], wanted = False, wanted - number
            left[a], left[b] = left[a] - number, left[b] - number
    gone = np.union1d(there[~kept], back[~kept])
    arcs = np.repeat(np.arange(nodes) * nodes, np.diff(graph.starts)) + graph.columns
    stay = ~np.isin(arcs, gone, assume_unique=True)
    starts = np.append(0, np.cumsum(stay))[graph.starts]
    return Cells.from_arrays(
        graph.vocabulary, starts, graph.columns[stay], graph.values[stay], graph.settings
    )
