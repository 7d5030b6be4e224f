"""The command `unhot graph`."""

import json

import pytest
from commands import run

SMALL = ("--dim", 8, "--epochs", 2, "--walks", 5, "--length", 10, "--window", 2, "--threads", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    ring = [(n, (n + step) % 40) for n in range(40) for step in (1, 2, 3)]
    (folder / "edges.txt").write_text("".join(f"{a} {b}\n" for a, b in ring))
    (folder / "labels.txt").write_text("".join(f"{n} {n // 10} {n // 20 + 10}\n" for n in range(40)))
    code, _, err = run(
        "graph", "train", folder / "edges.txt", "-o", folder / "model", *SMALL, "--hold-out", 0.1
    )
    assert code == 0, err
    assert "40 nodes and 120 edges" in err
    return folder


def test_nodes_have_neighbours(folder):
    code, out, _ = run("neighbors", folder / "model", "5")
    assert code == 0
    assert out.strip()


def test_labels_and_links_are_measured(folder):
    code, out, _ = run("graph", "evaluate", folder / "model", "--labels", folder / "labels.txt", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["nodes"], found["labels"], found["splits"]) == (40, 6, 5)
    assert 0 < found["macro_f1"] <= 1
    code, out, _ = run("graph", "evaluate", folder / "model", folder / "edges.txt", "--json")
    assert code == 0
    (folder / "other.txt").write_text("0 1\n1 2\n")
    other = run("graph", "evaluate", folder / "model", folder / "other.txt")
    assert "other.txt: is not the graph that" in other.stderr
    assert json.loads(out)["edges"] == 12
    code, out, err = run("graph", "evaluate", folder / "model", "--labels", folder / "labels.txt")
    assert "labels of 40 nodes, such as 0: 0, 10" in err
    assert "micro f1" in out
    assert "nodes 40" in out


def test_formats_and_directions(folder, tmp_path):
    (tmp_path / "e.csv").write_text("a;b\n")
    (tmp_path / "arcs.csv").write_text("begin,end,km\na,b,2\nb,c,1\nc,a,4\n")
    named = ("--sources", "begin", "--targets", "end", "--weight", "km", "--directed")
    code, _, err = run("graph", "train", tmp_path / "arcs.csv", "-o", tmp_path / "m", *SMALL, *named)
    assert code == 0, err
    assert "3 nodes and 3 edges" in err
    code, out, _ = run("info", tmp_path / "m")
    assert "graph-vectors" in out


def test_walks_that_end_early_are_counted_and_said(tmp_path):
    (tmp_path / "star").write_text("".join(f"n{n} hub\n" for n in range(9)))
    code, _, err = run("graph", "train", tmp_path / "star", "-o", tmp_path / "m", *SMALL, "--directed")
    assert code == 0, err
    assert "1 of 10 nodes have no outgoing edge" in err
    assert "1.9 of 10 nodes on average" in err
    assert "trained 190 steps" in err  # 2 epochs of 5 walks from 9 nodes to the hub and from the hub
    _, out, _ = run("info", tmp_path / "m", "--json")
    assert json.loads(out)["steps"] == 190
    code, _, err = run("graph", "train", tmp_path / "star", "-o", tmp_path / "n", *SMALL)
    assert "trained 1,000 steps" in err
    assert "outgoing" not in err


def test_link_prediction_below_chance_is_said(tmp_path):
    """Users lead to items, which lead nowhere: too few steps to learn more than which nodes are frequent."""
    pairs = [(f"u{n}", f"i{(n * k * k) % 17}") for n in range(60) for k in (1, 2, 3)]
    (tmp_path / "arcs").write_text("".join(f"{a} {b}\n" for a, b in pairs))
    code, _, err = run(
        "graph", "train", tmp_path / "arcs", "-o", tmp_path / "m", *SMALL, "--directed", "--hold-out", 0.2
    )
    assert code == 0, err
    code, out, err = run("graph", "evaluate", tmp_path / "m", tmp_path / "arcs", "--json")
    assert code == 0, err
    assert json.loads(out)["inner_auc"] < 0.5
    assert "below 50 %" in err
    assert "--no-directed" in err
    assert "cosines are the same in both directions" in err


def test_item_graphs_say_it_too(tmp_path):
    (tmp_path / "log.csv").write_text(
        "user,item,time\n" + "".join(f"u{n},i{n},1\nu{n},last,2\n" for n in range(9))
    )
    code, _, err = run(
        *("recommend", "train", tmp_path / "log.csv", "-o", tmp_path / "m", "--model", "graph", *SMALL),
        *("--split", "none"),
    )
    assert code == 0, err
    assert "1 of 10 nodes have no outgoing edge" in err
    assert "trained 190 steps" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "missing.txt", "-o", "m"), "missing.txt"),
        (("train", "EDGES", "-o", "m", "--p", 0), "p=0"),
        (("train", "EDGES", "-o", "m", "--sources", "x", "--format", "csv"), "x"),
        (("train", "EDGES", "-o", "m", "--model", "skipgram"), "--model"),
        (("evaluate", "MODEL", "--labels", "missing"), "missing"),
        (("evaluate", "MODEL", "--labels", "EDGES", "--share", 2), "share=2"),
        (("evaluate", "EDGES"), "edges.txt"),
        (("evaluate", "PLAIN"), "--hold-out"),
    ],
)
def test_what_is_refused(folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    run("graph", "train", folder / "edges.txt", "-o", "plain", *SMALL, "-q")
    places = {"EDGES": folder / "edges.txt", "MODEL": folder / "model", "PLAIN": "plain"}
    code, _, err = run("graph", *(places.get(each, each) for each in arguments))
    assert code in (1, 2)
    assert message in err
    assert "this is a bug" not in err
