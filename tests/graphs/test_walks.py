"""Random walks: the probabilities of a step, any number of threads, dead ends, walks as a text."""

import numpy as np
import pytest

from unhot.graphs import GraphWalks, read_graph
from unhot.kernels.chunk import one_piece
from unhot.kernels.jit import kernel
from unhot.kernels.rng import stream_key
from unhot.kernels.windows import Window, keep_threshold, keep_words, kept_buffer


@kernel
def read(text, where, window, kept):
    return keep_words(text, where, window, kept)


EDGES = [("a", "b", 1), ("a", "c", 3), ("b", "c", 2), ("c", "d", 1), ("d", "e", 5), ("b", "e", 0.5)]


def transitions(graph, before, node, p, q):
    """The probability of each next node, by the formula."""
    out, near = np.zeros(len(graph.vocabulary)), set(graph.row(before)[0].tolist())
    for other, weight in zip(*graph.row(node), strict=True):
        out[other] = weight * (1 / p if other == before else 1.0 if other in near else 1 / q)
    return out / out.sum()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 4), (4, 0.25), (0.5, 0.5)])
@pytest.mark.parametrize("weighted", [True, False])
def test_steps_have_the_probabilities_of_the_formula(p, q, weighted, directed):
    edges = EDGES if weighted else [edge[:2] for edge in EDGES]
    graph = read_graph([*edges, ("e", "a", 2)][: len(edges) + weighted], directed=directed)
    walks = GraphWalks(graph, 4000, 12, p, q).write(threads=2)
    index = graph.vocabulary.index
    before, node = index["a"], index["c"] if not directed else index["b"]
    steps = np.stack([walks[:, :-2], walks[:, 1:-1], walks[:, 2:]]).reshape(3, -1)
    after = steps[2][(steps[0] == before) & (steps[1] == node)]
    found = np.bincount(after[after >= 0], minlength=5) / max((after >= 0).sum(), 1)
    wanted = transitions(graph, before, node, p, q)
    assert after.size > 500
    assert np.abs(found - wanted).max() < 4 * np.sqrt(0.25 / after.size)


def test_any_number_of_threads_makes_the_same_walks():
    graph = read_graph(EDGES)
    walks = GraphWalks(graph, 3000, 7, 0.5, 2.0)
    one = walks.write(threads=1)
    assert (one == walks.write(threads=3)).all()
    assert (one != walks.write(epoch=1)).any()
    assert (one != walks.write(seed=2)).any()
    assert (np.bincount(one[:, 0]) == 3000).all()


def test_a_walk_ends_where_no_arc_leads_on():
    graph = read_graph([("a", "b"), ("b", "c")], directed=True)
    names = graph.vocabulary.words
    walks = GraphWalks(graph, 1, 4).write()
    found = {tuple(names[i] if i >= 0 else "" for i in walk) for walk in walks}
    assert found == {("a", "b", "c", ""), ("b", "c", "", ""), ("c", "", "", "")}


def test_steps_that_no_walk_makes_are_not_counted():
    star = GraphWalks(read_graph([("a", "x"), ("b", "x"), ("c", "x")], directed=True), 5, 10)
    assert (star.ids, star.words, star.sinks) == (200, 5 * (2 + 2 + 2 + 1), 1)
    ways = GraphWalks(read_graph([*EDGES, ("e", "a", 2), ("e", "x", 1)], directed=True), 30, 12, 0.5, 2.0)
    assert ways.words == (ways.write(seed=1) >= 0).sum()
    ring = GraphWalks(read_graph(EDGES), 3, 7)
    assert (ring.words, ring.sinks) == (ring.ids, 0)


def test_kernels_read_walks_as_sentences():
    graph = read_graph(EDGES)
    walks, window = GraphWalks(graph, 2, 6, 0.5, 2.0), Window(2, False)
    text, kept = walks.text(keep_threshold(np.ones(5))), kept_buffer(60, 2)
    where = one_piece(0, walks.ids, stream_key(1, 0, 0), stream_key(1, 0, 1))._replace(size=6, last=10)
    stop = read(text, where, window, kept)
    assert stop == 2 + 60
    rows = kept.word[2:62].reshape(10, 6)
    written = walks.write(seed=1)
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, written.tolist()))
    assert (kept.begin[2:62].reshape(10, 6) == np.arange(2, 62, 6)[:, None]).all()


def test_sub_sampling_drops_nodes():
    graph = read_graph(EDGES)
    walks, kept = GraphWalks(graph, 50, 6), kept_buffer(60 * 50, 2)
    keep = keep_threshold(np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    where = one_piece(0, walks.ids, stream_key(1, 0, 0), stream_key(1, 0, 1))._replace(size=6, last=250)
    stop = read(walks.text(keep), where, Window(2, True), kept)
    assert 2 < stop < 2 + 1500
    assert (kept.word[2:stop] != 0).mean() > 0.999
