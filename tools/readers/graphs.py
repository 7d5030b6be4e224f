"""Readers of graphs, and of saved graph vectors."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np

import unhot
from readers.reader import MEGABYTE, Files, Reader, files_below
from unhot.graphs import GraphWalks, read_graph

EDGES = b"a b\nb caf\xc3\xa9\n# no edge\na  c\nc\td\n"
SEEDS = {
    "x.txt": EDGES,
    "x.edges": b"a b 1.5\nb c 2\nc a 1e-3\n" * 3,
    "x.csv": b'source,target,weight\na,b,1\nb,"c,d",2\n',
    "x.tsv": b"a\tb\nb\tc\n",
    "x.adjacency": b"a b c d\nb a\nc d a b e\n",
    "x.txt.gz": gzip.compress(EDGES),
}


def graph_seeds(_: Path) -> list[Files]:
    """Return a graph in each format."""
    return [{name: text} for name, text in SEEDS.items()]


def read_any_graph(folder: Path, rng: random.Random) -> str:
    """Read a graph and walk on it."""
    graph = read_graph(next(folder.iterdir(), folder / "x.txt"), directed=rng.random() < 0.5)
    if not 0 < len(graph.vocabulary) < 1000:
        return ""
    walks = GraphWalks(graph, 2, 5, 0.5, 2.0).write(threads=1)
    return "" if walks.max() < len(graph.vocabulary) and walks.min() >= -1 else "a walk leaves the graph"


def model_seeds(folder: Path) -> list[Files]:
    """Return a folder with graph vectors."""
    model = unhot.GraphVectors(dim=3, epochs=1, threads=1, hold_out=0.3, walks=1, length=5)
    model.fit([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).save(folder / "0" / "m")
    return [files_below(folder / "0")]


def read_model(folder: Path, rng: random.Random) -> str:
    """Load graph vectors and ask them."""
    model = unhot.load(folder / "m", verify=rng.random() < 0.3)
    if isinstance(model, unhot.GraphVectors):
        with np.errstate(all="ignore"):
            model.vectors.most_similar(model.vectors.words[0], topn=2)
    return ""


READERS = [
    Reader("graph", graph_seeds, read_any_graph, slack=24 * MEGABYTE),
    Reader("model-graph", model_seeds, read_model, slack=24 * MEGABYTE, share=0.3),
]
