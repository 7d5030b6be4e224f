"""Graphs from files, tables, objects and sessions."""

import gzip

import numpy as np
import pytest
from scipy import sparse

from unhot.corpus.cells import Cells
from unhot.errors import DataError, FormatError
from unhot.graphs.reading import edges_of, read_graph, without_edges
from unhot.logs.encoding import read_log

TRIANGLE = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")}


def arcs(graph):
    words = graph.vocabulary.words
    rows = np.repeat(np.arange(len(words)), np.diff(graph.starts))
    pairs = zip(rows, graph.columns, graph.values, strict=True)
    return {(words[a], words[b]): float(w) for a, b, w in pairs}


def both(edges, weight=1.0):
    return {pair: weight for a, b in edges for pair in ((a, b), (b, a))}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edges.txt", "a b\nb c\n a  c\nc\td\n"),
        ("comments.txt", "# nodes\n% edges\na b\n\nb c\na c\nc d"),
        ("twice.txt", "a b\nb a\nb c\na c\na c\nc d\n"),
        ("header.csv", "source,target\na,b\nb,c\na,c\nc,d\n"),
        ("bare.csv", "a,b\nb,c\na,c\nc,d\n"),
        ("other.csv", "time,to,from\n1,b,a\n2,c,b\n3,c,a\n4,d,c\n"),
        ("bare.tsv", "a\tb\nb\tc\na\tc\nc\td\n"),
        ("edges.jsonl", '{"source":"a","target":"b"}\n{"source":"b","target":"c"}\n'
         '{"source":"a","target":"c"}\n{"source":"c","target":"d"}\n'),
        ("lists.txt", "a b c\nb c\nc d\nd c\n"),
    ],
)  # fmt: skip
def test_files_of_edges(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    graph = read_graph(tmp_path / name)
    assert arcs(graph) == both(TRIANGLE)
    assert graph.vocabulary.words[0] == "c"
    assert graph.vocabulary.counts.tolist() == [3, 2, 2, 1]
    assert edges_of(graph)[0].size == 4
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert arcs(read_graph(tmp_path / f"{name}.gz")) == both(TRIANGLE)


def test_weights_of_an_edge_are_added_up(tmp_path):
    (tmp_path / "e").write_text("a b 1.5\nb a 1\nb c 2\n")
    assert arcs(read_graph(tmp_path / "e")) == {**both([("a", "b")], 2.5), **both([("b", "c")], 2.0)}
    directed = read_graph(tmp_path / "e", directed=True)
    assert arcs(directed) == {("a", "b"): 1.5, ("b", "a"): 1.0, ("b", "c"): 2.0}
    assert not directed.is_symmetric()
    assert "1.5" in read_graph(tmp_path / "e", format="adjacency").vocabulary


def test_objects_of_python():
    assert arcs(read_graph(TRIANGLE)) == both(TRIANGLE)
    assert arcs(read_graph([(a, b, 2) for a, b in TRIANGLE])) == both(TRIANGLE, 2.0)
    assert arcs(read_graph(np.array(sorted(TRIANGLE)))) == both(TRIANGLE)
    assert arcs(read_graph(np.array([[0, 1, 2.5]]))) == both([("0", "1")], 2.5)
    with pytest.raises(DataError, match="edge_index"):
        read_graph(np.zeros((2, 7), np.int64))
    assert arcs(read_graph([("a", "b", -1), ("b", "c", 2)])) == both([("b", "c")], 2.0)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(sorted(TRIANGLE), columns=["source", "target"])
    assert arcs(read_graph(frame)) == both(TRIANGLE)


def test_matrices():
    dense = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    wanted = {**both([("0", "1")], 2.0), **both([("1", "2")], 1.0)}
    assert arcs(read_graph(sparse.csr_matrix(dense))) == wanted
    with pytest.raises(DataError, match="not symmetric"):
        read_graph(sparse.coo_array(np.triu(dense)))
    assert len(read_graph(sparse.coo_array(np.triu(dense)), directed=True)) == 2
    with pytest.raises(DataError, match="as many columns"):
        read_graph(sparse.csr_matrix(dense[:2]))


class Graph:
    """The part of a networkx graph that is read."""

    def __init__(self, edges, directed=False):
        self._edges, self._directed = edges, directed

    def is_directed(self):
        return self._directed

    def nodes(self):
        return [*dict.fromkeys(node for edge in self._edges for node in edge[:2]), "alone"]

    def edges(self, data, default):
        return [(a, b, *(rest or (default,))) for a, b, *rest in self._edges]


def test_networkx_graphs():
    graph = read_graph(Graph([(1, 2), (2, 3, 0.5)]))
    assert arcs(graph) == {**both([("1", "2")]), **both([("2", "3")], 0.5)}
    assert graph.vocabulary.words == ["2", "1", "3", "alone"]
    assert len(read_graph(Graph([(1, 2)], directed=True), directed=True)) == 1
    for directed in (False, True):
        with pytest.raises(DataError, match=f"give directed={not directed}"):
            read_graph(Graph([(1, 2)], directed=not directed), directed=directed)
    notes = []
    assert arcs(read_graph(Graph([(1, 2), (2, 3, 0)]), note=notes.append)) == both([("1", "2")])
    assert notes == ["edges whose weight is not above zero, which were left out: 1"]
    with pytest.raises(DataError, match="two nodes are called '1'"):
        read_graph(Graph([(1, "1"), (1, 2)]))
    with pytest.raises(DataError, match="weight that is not a number"):
        read_graph(Graph([(1, 2, "x")]))


def test_sessions_are_a_graph_of_what_came_next():
    log = read_log([("u", "a"), ("u", "b"), ("u", "a"), ("v", "a"), ("v", "b")])
    assert arcs(read_graph(log, directed=True)) == {("a", "b"): 2.0, ("b", "a"): 1.0}
    assert arcs(read_graph(log)) == both([("a", "b")], 3.0)


def test_cells_are_a_graph(tmp_path):
    graph = read_graph(TRIANGLE)
    assert read_graph(graph) is graph
    kept = Cells.from_arrays(graph.vocabulary, graph.starts, graph.columns, graph.values, directory=tmp_path)
    assert arcs(read_graph(Cells.open(kept.directory))) == both(TRIANGLE)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no row"),
        ("user,thing\n1,2\n", "sources='from': there is no such column"),
    ],
)
def test_what_is_no_graph(tmp_path, text, match):
    (tmp_path / "e.csv" if "," in text else tmp_path / "e").write_text(text)
    with pytest.raises((DataError, FormatError), match=match):
        read_graph(tmp_path / ("e.csv" if "," in text else "e"), format=None if "," in text else "edges",
                   columns=("from", None, None) if "," in text else (None, None, None))  # fmt: skip


def test_bad_lines_are_counted(tmp_path):
    (tmp_path / "e").write_text("a b\nb\nb c d\nb c\n")
    said = []
    graph = read_graph(tmp_path / "e", format="edges", tell=said.append, note=said.append)
    assert arcs(graph) == both([("a", "b"), ("b", "c")])
    assert any("line 2" in line for line in said)
    with pytest.raises(DataError, match="line 2"):
        read_graph(tmp_path / "e", format="edges", strict=True)


def said_of(tmp_path, name, text, **settings):
    """Return the arcs of a file, and what is said of it."""
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    said = []
    graph = read_graph(tmp_path / name, tell=said.append, note=said.append, **settings)
    return arcs(graph), "\n".join(said)


WEIGHTED = {**both([("1", "2")], 4.0), **both([("2", "3")], 1.0), **both([("1", "4")], 2.5)}


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        # networkx: write_edgelist, other delimiters, an attribute that is not everywhere, keys
        ("e", "1 2 {'weight': 4}\n2 3 {'weight': 1}\n1 4 {'weight': 2.5}\n", "networkx's attributes"),
        ("e", "1,2,{'weight': 4, 'a': '}'}\n2,3,{}\n1,4,{'a': 1, 'weight': 2.5}\n", "networkx's attributes"),
        ("e", "1\t2\t{'unweight': 9, 'weight': 4}\n2\t3\t{}\n1\t4\t{'weight': 2.5}\n", "attributes"),
        ("e", "1 2 4 red\n2 3 1 red\n1 4 2.5 blue\n", "weights from column 3; ignored: column 4"),
        # KONECT
        ("out.e", "% sym weighted\n% 3 4 4\n1 2 4 1082040961\n2 3 1 1082040962\n1 4 2.5 1082040963\n",
         "weights from column 3; ignored: column 4\ncomments, lines that start with # or %: 2"),
        # headers: Gephi's, with semicolons, with white space, after comments
        ("e.csv", "Source,Target,Type,Id,Weight\n1,2,Undirected,0,4\n2,3,Undirected,1,1\n1,4,Mixed,2,2.5\n",
         "source from Source, target from Target, weights from Weight; ignored: column Type, Id"),
        ("e.csv", "Source;Target;Weight\r\n1;2;4\r\n2;3;1\r\n1;4;2.5\r\n", "weights from Weight"),
        ("e", "source target weight\n1 2 4\n2 3 1\n1 4 2.5\n", "edge list with a header"),
        ("e.tsv", "# a graph\nFromNodeId\tToNodeId\tweight\n1\t2\t4\n2\t3\t1\n1\t4\t2.5\n", "with a header"),
        ("e.mtx", "%%MatrixMarket matrix coordinate real symmetric\n%\n4 4 3\n2 1 4\n3 2 1\n4 1 2.5\n",
         "Matrix Market file (symmetric), weights from column 3"),
        ("e", '"1" "2" 4\n"2" "3" 1\n"1" "4" 2.5\n', "weights from column 3"),
        ("e", "1, 2, 4\n2, 3, 1\n1, 4, 2.5\n", "weights from column 3"),
        ("e", gzip.compress(b"\xef\xbb\xbf1 2 4\r\n2 3 1\r\n1 4 2.5\r\n", mtime=0), "weights from column 3"),
        # bad rows change nothing for the others
        ("e", "1 2 4\n2 3 nan\n2 3 1\n1 4 2.5\n5 6\n7 8 inf\n", "line 2: has a weight that is not a number"),
        ("e", "1 2 4\n2 3 1\n1 4 2.5\n5 6 0\n7 8 -1\n", "line 4: has a weight that is not above zero ('0')"),
        ("e", "1 2 4\n2 3 1\n1 4 2.5\n1 2 3 4 5\n", "line 4: has 5 fields, not 3"),
    ],
)  # fmt: skip
def test_edge_lists_of_other_tools(tmp_path, name, text, wanted):
    found, said = said_of(tmp_path, name, text)
    assert found == WEIGHTED
    assert wanted in said


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("e", "a b {}\nb c {}\na c {}\nc d {}\n", "edge list"),
        ("e", "# From\tToNodeId\na\tb\nb\tc\na\tc\nc\td\n", "comments, lines that start with # or %: 1"),
        ("e.csv", "src,dst\na,b\nb,c\na,c\nc,d\n", "source from src, target from dst"),
        ("e", "a b\nb c\na c\nc d\nb\n", "line 5: has 1 fields, not 2"),
        ("e", "a b 1217567877\nb c 1217567878\na c 1217567879\nc d 1217567880\n", "3 looks like times"),
        ("e", "#networkx\n# GMT\na b c\nb c\nc d\nd\nalone\n", "without neighbors, which were left out: 1"),
        ("e", "# x\na,b,c\nb,c\nc,d\nd\n", "adjacency list"),
        ("e", "".join(f"{a} {b}\n" for a, b in sorted(TRIANGLE)) * 9 + "x y z q\n", "has 4 fields, not 2"),
    ],
)  # fmt: skip
def test_lists_without_weights(tmp_path, name, text, wanted):
    found, said = said_of(tmp_path, name, text)
    assert found == both(TRIANGLE)
    assert wanted in said


@pytest.mark.parametrize("nodes", ["abcdefghij", [*range(100, 110)]])
@pytest.mark.parametrize("bad", ["{} {} x", "{} {}", "{} {} 1 1"])
@pytest.mark.parametrize("rows", [3, 4, 8])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_one_bad_cell_leaves_small_weighted_lists_what_they_are(tmp_path, nodes, bad, rows, place):
    """Each node has one line, as in an adjacency list."""
    edges = [*zip(nodes, nodes[1:], strict=False)][:rows]
    lines = ["{} {} {}".format(*edge, 2 + number) for number, edge in enumerate(edges)]
    lines[place] = bad.format(*edges[place])
    found, said = said_of(tmp_path, "e", "\n".join(lines) + "\n")
    weights = {(str(a), str(b)): 2.0 + number for number, (a, b) in enumerate(edges)}
    del weights[(str(edges[place][0]), str(edges[place][1]))]
    assert found == weights | {(b, a): weight for (a, b), weight in weights.items()}
    assert "weights from column 3" in said
    assert "1 of" in said


def test_names_with_spaces_and_headers_without_usual_names(tmp_path):
    assert said_of(tmp_path, "e", "new york\tboston\n")[0] == both([("new york", "boston")])
    assert said_of(tmp_path, "e", '"new york","boston"\n')[0] == both([("new york", "boston")])
    assert said_of(tmp_path, "e", "begin end\n1 2\n2 3\n")[0] == both([("1", "2"), ("2", "3")])
    # words that are nodes, too, are no header
    assert said_of(tmp_path, "e", "from to\nto be\nbe from\n")[0] == both(
        [("from", "to"), ("to", "be"), ("be", "from")]
    )


def test_columns_by_number(tmp_path):
    text = "a red b 4\nb red c 1\na blue c 2\n"
    found, _ = said_of(tmp_path, "e", text, columns=("1", "3", "4"))
    assert found == {**both([("a", "b")], 4.0), **both([("b", "c")]), **both([("a", "c")], 2.0)}
    found, _ = said_of(tmp_path, "e.csv", "source,target,weight\na,b,4\n", columns=(None, None, "none"))
    assert found == both([("a", "b")])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1 2 3\n2 3 1\n3 1 2\n", "--format edges"),
        ("a b\nb c d\nb e f\na c\nc a b d\n", "--format edges"),
        ("a friend b\na friend c\nb likes c\n", "--sources 1 --targets 3"),
        ("Smith,John Doe,Jane\nDoe,Jane Roe,Ann\n", "format='csv' or format='edges'"),
        ("begin end km\n1 2 3\n2 3 4\n", "the columns are begin, end, km"),
        ("% bip unweighted\n1 1\n1 2\n", "bipartite"),
        ("%%MatrixMarket matrix coordinate pattern general\n3 4 2\n1 2\n2 4\n", "square"),
        ("# x\n0 2\n1 {}\n2 {'weight': 1}\n1 1\n2 {}\n", "multiline"),
        ("graph [\n  node [\n", "GML"),
        ("# only\n% comments\n", "comments, lines that start with # or %: 2"),
    ],
)  # fmt: skip
def test_what_is_unclear_is_asked_for(tmp_path, text, match):
    (tmp_path / "e").write_text(text)
    with pytest.raises(DataError, match=match):
        read_graph(tmp_path / "e")


@pytest.mark.parametrize("directed", [False, True])
def test_edges_are_held_out_but_never_the_last_of_a_node(directed):
    rng = np.random.default_rng(1)
    edges = {(f"n{a}", f"n{b}") for a, b in rng.integers(40, size=(300, 2)) if a < b}
    graph = read_graph([*edges, ("n0", "leaf")], directed=directed)
    left = without_edges(graph, 0.3, seed=1)
    assert edges_of(left)[0].size == edges_of(graph)[0].size - int(0.3 * edges_of(graph)[0].size)
    assert arcs(left).items() <= arcs(graph).items()
    assert arcs(without_edges(graph, 0.3, seed=1)) == arcs(left)
    assert ("n0", "leaf") in arcs(left)
    ends = {node for pair in arcs(left) for node in pair}
    assert ends == set(graph.vocabulary.words)


def test_an_edge_is_held_out_with_the_edge_back():
    rng = np.random.default_rng(1)
    edges = {(f"n{a}", f"n{b}") for a, b in rng.integers(20, size=(200, 2)) if a != b}
    graph = read_graph([*edges], directed=True)
    left = arcs(without_edges(graph, 0.3, seed=1))
    held = arcs(graph).keys() - left.keys()
    assert int(0.3 * len(arcs(graph))) - len(held) in (0, 1)
    assert any((b, a) in held for a, b in held)
    assert not any((b, a) in left for a, b in held)
