"""Models of plugins are trained, asked, measured and compared like those of the package."""

import csv
import json
import math
from pathlib import Path

import commands
import pytest

PLUGINS = Path(commands.__file__).parent / "plugins"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "models"
RECOMMENDER, TOWER, LANGUAGE_MODEL, CLASSIFIER = (
    folder / f"toy_{name}.py"
    for folder, name in (
        (DOCS, "recommender"),
        (DOCS, "tower"),
        (PLUGINS, "language_model"),
        (PLUGINS, "classifier"),
    )
)
LETTERS = "abcdefg"
GRAPH = '''"""Rings: vectors of the nodes of a graph, of few numbers."""
from dataclasses import dataclass
from unhot.models.graph_vectors import GraphVectors
from unhot.models.model import model

@model("rings")  # of the family of its base class
@dataclass(kw_only=True)
class Rings(GraphVectors):
    dim: int = 8  # length of each vector
'''


def rows_of(path):
    """The rows of a file by what is in their first column."""
    with path.open() as file:
        return {next(iter(row.values())): row for row in csv.DictReader(file)}


def ok(*arguments):
    ended = commands.run(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def refused(*arguments):
    ended = commands.run(*arguments)
    assert ended.returncode, ended.stdout
    return ended.stderr


@pytest.mark.parametrize(
    ("command", "plugin", "name", "setting"),
    [
        ("recommend", RECOMMENDER, "tally", "--exponent FLOAT The power of the number of events."),
        ("lm", LANGUAGE_MODEL, "unigrams", "--added FLOAT Added to every count. [default: 1]"),
        ("classify", CLASSIFIER, "bayes", "--added FLOAT Added to every count. [default: 1]"),
    ],
)
def test_help_lists_models_of_plugins_with_their_settings(command, plugin, name, setting):
    for order in (("--plugin", plugin, "--help"), ("--help", "--plugin", plugin)):
        shown = " ".join(ok(command, "train", *order).split())
        assert f"{name}]" in shown.partition("--model [")[2].partition(" ")[0]
        assert f"Settings of {name}: {setting}" in shown
        assert f"{name} {name.capitalize()}: " in shown.partition(" Models: ")[2]
    assert name not in ok(command, "train", "--help")
    assert name not in ok("graph", "train", "--plugin", plugin, "--help")


@pytest.fixture
def log(tmp_path):
    rows = [
        f"u{user},{item},{time}" for user in range(40) for time, item in enumerate(LETTERS[user % 4 :][:4])
    ]
    (tmp_path / "log.csv").write_text("user,item,time\n" + "\n".join(rows) + "\n")
    return tmp_path / "log.csv"


def test_a_recommender(log, tmp_path):
    plugin = ("--plugin", RECOMMENDER)
    how = ("--split", "leave-last-out", "--with-users", "--exponent", 0.5)
    ok("recommend", "train", log, "-o", tmp_path / "m", "--model", "tally", *how, *plugin)
    found = json.loads(ok("recommend", "evaluate", tmp_path / "m", "--json", *plugin))
    assert (found["model"], found["users"]) == ("tally", 40)
    assert found["recall@20"] == 0.5  # nobody had f or g before the last two events
    answers = json.loads(ok("recommend", "for", tmp_path / "m", "--json", *plugin, "u0", "u1"))
    assert {user: len(answer) > 0 for user, answer in answers.items()} == {"u0": True, "u1": True}
    assert "'tally'" in refused("recommend", "evaluate", tmp_path / "m")
    assert "unigrams" in refused("recommend", "train", log, "-o", tmp_path / "n", "--model", "unigrams")


def test_a_tower(log, tmp_path):
    pytest.importorskip("torch")
    plugin, small = (
        ("--plugin", TOWER),
        ("--dim", 8, "--epochs", 15, "--lr", 0.05, "--units", 16, "--batch", 32),
    )
    how = (*small, "--output", "softmax", "--split", "leave-last-out", "--with-users", "-q")
    ok("recommend", "train", log, "-o", tmp_path / "m", "--model", "last-and-mean", *how, *plugin)
    found = json.loads(ok("recommend", "evaluate", tmp_path / "m", "--at", "1", "--json", *plugin))
    assert (found["model"], found["users"]) == ("last-and-mean", 40)
    assert found["recall@1"] == 0.5  # the next letter; nobody had f or g before the last two events
    answers = json.loads(ok("recommend", "for", tmp_path / "m", "--json", *plugin, "u0", "-k", 1))
    assert [each["item"] for each in answers["u0"]] == ["e"]
    assert json.loads(ok("info", tmp_path / "m", "--json"))["units"] == 16
    assert "--plugin FILE" in refused("recommend", "evaluate", tmp_path / "m")
    names = ("--models", "last-and-mean", "popularity")
    ok("recommend", "compare", log, *names, *plugin, "-o", tmp_path / "c", "-q", "--minutes", 0.01)
    assert rows_of(tmp_path / "c.csv")["last-and-mean"]["settings"] == "defaults"


def test_a_model_that_extends_a_tower(log, tmp_path):
    """It takes the tower of its base class; one without any tower says so."""
    pytest.importorskip("torch")
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from unhot.models.model import model\n"
        "from unhot.models.towers.sasrec import SASRec\n"
        "from unhot.models.towers.tower_model import TowerModel\n"
        "@model('mine', family='recommend')\n@dataclass(kw_only=True)\nclass Mine(SASRec): pass\n"
        "@model('none', family='recommend')\n@dataclass(kw_only=True)\nclass Without(TowerModel): pass\n"
    )
    how = ("--dim", 8, "--epochs", 1, "-q", "--plugin", tmp_path / "mine.py")
    ok("recommend", "train", log, "-o", tmp_path / "m", "--model", "mine", *how)
    assert "c" in ok("recommend", "for", tmp_path / "m", "--history", "b", *how[-2:])
    told = refused("recommend", "train", log, "-o", tmp_path / "n", "--model", "none", *how)
    assert "none: has no tower; register one with @tower('none')" in told


def test_item_vectors_of_a_plugin_have_neighbors(log, tmp_path):
    """A model with vectors of users is opened to tell them from items; other vectors are read as they are."""
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from unhot.models.item2vec import Item2Vec\n"
        "from unhot.models.model import model\n"
        "@model('mine', family='recommend')\n@dataclass(kw_only=True)\nclass Mine(Item2Vec): pass\n"
    )
    plugin = ("--plugin", tmp_path / "mine.py")
    how = ("--model", "mine", "--users", "vector", "--dim", 8, "--epochs", 1, "-q")
    ok("recommend", "train", log, "-o", tmp_path / "m", *how, *plugin)
    assert "c" in ok("neighbors", tmp_path / "m", *plugin, "b")
    assert "--plugin FILE" in refused("neighbors", tmp_path / "m", "b")


def test_recommenders_are_compared(log, tmp_path):
    broken = RECOMMENDER.read_text().replace("tally", "broken").replace("np.tile", "np.no_such")
    (tmp_path / "broken.py").write_text(broken)
    plugins = ("--plugin", RECOMMENDER, "--plugin", tmp_path / "broken.py")
    names = ("--models", "tally", "broken", "popularity")
    shown = ok("recommend", "compare", log, *names, *plugins, "-o", tmp_path / "c", "-q")
    rows = rows_of(tmp_path / "c.csv")
    assert rows["tally"]["ndcg@10"] == rows["popularity"]["ndcg@10"]
    assert rows["tally"]["settings"] == "exponent=1.0"  # the first of the best ones that it tried
    assert "no_such" in shown
    everything = ok("recommend", "compare", log, *plugins, "--minutes", 0.01, "-q", "-o", tmp_path / "d")
    assert "tally" in everything
    told = refused("recommend", "compare", log, "--models", "tally", "-o", tmp_path / "e")
    assert "tally: there is no such recommender; known are item2vec, eges" in told


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text("a b c a\nb a\n\na a b\n" * 40)
    return tmp_path / "text.txt"


def test_a_language_model(text, tmp_path):
    plugin = ("--plugin", LANGUAGE_MODEL)
    ok("lm", "train", text, "-o", tmp_path / "m", "--model", "unigrams", "--added", 1e-9, *plugin)
    found = json.loads(ok("lm", "perplexity", tmp_path / "m", text, "--json", "--details", *plugin))
    p = [5 / 13, 3 / 13, 1 / 13, 4 / 13]  # a, b, c, the end of a line
    assert found["bits"] == pytest.approx(-sum(each * math.log2(each) for each in p))
    ok("lm", "score", tmp_path / "m", text, "-o", tmp_path / "scores.txt", "-q", *plugin)
    assert len((tmp_path / "scores.txt").read_text().splitlines()) == 160
    assert json.loads(ok("lm", "generate", tmp_path / "m", "--next", 1, "--json", *plugin))[0]["word"] == "a"
    ok("lm", "train", text, "-o", tmp_path / "n", "--order", 2, "--smoothing", "witten_bell")
    models = (tmp_path / "m", tmp_path / "n")
    ok("lm", "mix", *models, "--validation", text, "-o", tmp_path / "mixed", *plugin)
    assert ok("lm", "perplexity", tmp_path / "mixed", text, *plugin)
    assert "only models of n-grams" in refused("lm", "convert", tmp_path / "m", tmp_path / "m.arpa", *plugin)
    assert "--plugin FILE" in refused("lm", "perplexity", tmp_path / "m", text)


def test_language_models_are_compared(text, tmp_path):
    pytest.importorskip("torch")
    small = ("--layers", "softmax", "--dim", 4, "--epochs", 1, "--lr", 0.01, "--batch", 2, "--order", 2)
    ended = commands.run(
        "lm", "compare", text, text, text, *small, "--plugin", LANGUAGE_MODEL, "-q", "-o", tmp_path / "c"
    )
    assert ended.returncode == 0, ended.stderr
    rows = rows_of(tmp_path / "c.csv")
    assert rows["unigrams"]["kind"] == "model"
    assert float(rows["unigrams"]["perplexity"]) > float(rows["n-grams, order 2"]["perplexity"])
    assert "`unigrams`" in (tmp_path / "c.md").read_text()


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "lines.txt").write_text("__label__pos good film\n__label__neg bad film\n" * 30)
    return tmp_path / "lines.txt"


def test_a_classifier(lines, tmp_path):
    plugin = ("--plugin", CLASSIFIER)
    ok("classify", "train", lines, "-o", tmp_path / "m", "--model", "bayes", *plugin)
    found = json.loads(ok("classify", "test", tmp_path / "m", lines, "--json", *plugin))
    assert (found["examples"], found["accuracy"]) == (60, 1.0)
    assert found["log_loss"] == pytest.approx(-math.log(31 / 32))
    (tmp_path / "new.txt").write_text("a good one\nhow bad\n")
    for k in (1, 2):
        ok(
            "classify",
            "predict",
            tmp_path / "m",
            tmp_path / "new.txt",
            "-o",
            tmp_path / "out",
            "-k",
            k,
            *plugin,
        )
        assert [line.strip('["')[:3] for line in (tmp_path / "out").read_text().splitlines()] == [
            "pos",
            "neg",
        ]
    told = refused("classify", "explain", tmp_path / "m", "a good one", *plugin)
    assert "is a bayes model, which can predict and be tested, but nothing else" in told
    assert "bayes model" in refused("classify", "calibrate", tmp_path / "m", lines, *plugin)
    assert "--plugin FILE" in refused("classify", "test", tmp_path / "m", lines)


def test_a_model_of_a_graph(tmp_path):
    (tmp_path / "rings.py").write_text(GRAPH)
    edges = [f"{a} {(a + step) % 30}" for a in range(30) for step in (1, 2)]
    (tmp_path / "edges.txt").write_text("\n".join(edges) + "\n")
    plugin = ("--plugin", tmp_path / "rings.py")
    how = ("--model", "rings", "--walks", 2, "--length", 10, "--hold-out", 0.1, "-q")
    ok("graph", "train", tmp_path / "edges.txt", "-o", tmp_path / "m", *how, *plugin)
    found = ok("graph", "evaluate", tmp_path / "m", tmp_path / "edges.txt", "--json", *plugin)
    assert json.loads(found)["edges"] == 6
    assert "'rings'" in refused("graph", "evaluate", tmp_path / "m", tmp_path / "edges.txt")


DEVICES = '''"""Devices: recommend what was taken on the most frequent device."""
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import FeatureFields

class Taken(NamedTuple):
    taken: object  # [items]

@model("devices", family="recommend")
@dataclass(kw_only=True)
class Devices(FeatureFields, RecommenderModel):
    grid = ([{}], [{}])

    def count(self, log, tells):
        name, *others = log.features
        tells.say(f"{name}: {log.features[name].categories}; others: {others}")
        of_device = log.ids_of_lines[log.features[name].values == 0]
        return Taken(np.bincount(of_device, minlength=len(log.items)).astype(np.float32))

    def counted_from(self, tensors, items):
        return Taken(tensors["taken"].reshape(items))

    def score(self, counted, histories):
        return np.tile(counted.taken, (len(histories), 1))
'''


def test_a_model_learns_from_columns_of_events(tmp_path):
    (tmp_path / "devices.py").write_text(DEVICES)
    rows = [f"u{n % 5},i{n % 4},{n},{7 if n % 3 else 9},{n}\n" for n in range(60)]
    (tmp_path / "log.csv").write_text("user,item,time,device,age\n" + "".join(rows))
    how = (
        "--plugin",
        tmp_path / "devices.py",
        "--features",
        "device,age",
        "--categories",
        "device",
    )
    ended = commands.run(
        "recommend", "train", tmp_path / "log.csv", "-o", tmp_path / "m", "--model", "devices", *how
    )
    assert ended.returncode == 0, ended.stderr
    assert "feature device: 2 categories; feature age: numbers\n" in ended.stderr
    assert "device: ['7', '9']; others: ['age']\n" in ended.stderr
    compare = (
        "recommend",
        "compare",
        tmp_path / "log.csv",
        "--models",
        "devices",
        "popularity",
        "-o",
        tmp_path / "c",
    )
    ok(*compare, *how, "-q")
    assert {"devices", "popularity"} <= rows_of(tmp_path / "c.csv").keys()
