"""Vectors of graphs: planted groups, layers and engines, saving, going on after a stop, held-out edges."""

import hashlib

import numpy as np
import pytest
from grids import SOAK

import unhot
from unhot.errors import ConfigError, DataError
from unhot.evaluate import classify_nodes, predict_links
from unhot.graphs import read_graph
from unhot.models.load import load_unfinished
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import checkpoint_of

GROUPS, SIZE = 4, 15
SMALL = {"dim": 8, "window": 3, "epochs": 2, "walks": 10, "length": 20, "threads": 1}


def planted(seed=1):
    """Edges of groups whose members know each other, and few others."""
    rng, nodes = np.random.default_rng(seed), GROUPS * SIZE
    for a in range(nodes):
        for b in range(a):
            if rng.random() < (0.4 if a % GROUPS == b % GROUPS else 0.02):
                yield (f"n{a}", f"n{b}")


EDGES = list(planted())
LABELS = {f"n{n}": [f"g{n % GROUPS}"] for n in range(GROUPS * SIZE)}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "edges.txt"
    path.write_text("".join(f"{a} {b}\n" for a, b in EDGES))
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"p": 0.5, "q": 2.0},
        {"directed": True},
        {"output": "softmax"},
        {"output": "nce:k=5"},
        *([{"output": "hierarchical"}, {"output": "sampled:k=5"}] if SOAK else []),
        {"engine": "torch", "lr": 0.02},
        {"engine": "torch", "output": "adaptive:cutoffs=20", "lr": 0.02},
    ],
    ids=str,
)
def test_groups_are_found_with_every_setting(settings, tmp_path):
    model = unhot.GraphVectors(**{**SMALL, "epochs": 6, **settings}).fit(EDGES)
    found = classify_nodes(model.vectors, LABELS)
    assert found.micro_f1 > (0.5 if settings.get("directed") else 0.8)
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m")
    assert isinstance(loaded, unhot.GraphVectors)
    np.testing.assert_array_equal(loaded.vectors.vectors, model.vectors.vectors)


def test_one_thread_gives_the_same_bytes_and_goes_on_to_them(file, tmp_path):
    def digest(model):
        return hashlib.sha256(np.ascontiguousarray(model.vectors.vectors)).hexdigest()

    def stop(progress):
        if progress.event == "progress" and progress.epoch == 2:
            raise KeyboardInterrupt

    whole = unhot.GraphVectors(**SMALL).fit(file)
    assert digest(unhot.GraphVectors(**SMALL).fit(EDGES)) == digest(whole)
    assert digest(unhot.GraphVectors(**SMALL, seed=2).fit(EDGES)) != digest(whole)
    checkpoint = Checkpoint(path=tmp_path / "m", chunks=3)
    model = unhot.GraphVectors(**SMALL).fit(file, callbacks=[stop], checkpoint=checkpoint)
    assert not model.complete
    resumed = load_unfinished(checkpoint_of(tmp_path / "m").parent).resume()
    assert digest(resumed) == digest(whole)


def test_held_out_edges_are_found(file):
    model = unhot.GraphVectors(**{**SMALL, "epochs": 6}, hold_out=0.2).fit(file)
    found = predict_links(model)
    assert found.edges == int(0.2 * len(EDGES))
    low, high = found.cosine_auc_interval
    assert 0.7 < low < found.cosine_auc < high < 1
    assert found.inner_auc > 0.7
    assert predict_links(model, read_graph(file)) == found
    blind = unhot.GraphVectors(**{**SMALL, "epochs": 1}, lr=1e-9, hold_out=0.2).fit(file)
    assert abs(predict_links(blind).cosine_auc - 0.5) < 0.15


def test_edges_are_scored_by_cosines_if_the_layer_does(file):
    output = "in_batch:normalized=true,temperature=0.2"
    model = unhot.GraphVectors(**SMALL, hold_out=0.2, engine="torch", output=output).fit(file)
    lengths = np.linalg.norm(model.out_vectors.vectors, axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)
    before = predict_links(model)
    model.learned.params.in_vectors[:] *= np.random.default_rng(0).uniform(0.1, 10, (GROUPS * SIZE, 1))
    after = predict_links(model)
    assert after.inner_auc == pytest.approx(before.inner_auc, abs=1e-3)


def test_a_graph_that_has_changed_is_no_test(file, tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text(file.read_text())
    model = unhot.GraphVectors(**SMALL, hold_out=0.2).fit(path)
    model.save(tmp_path / "m")
    path.write_text(file.read_text() + "n0 new\n")
    with pytest.raises(DataError, match="has changed"):
        predict_links(model)
    with pytest.raises(DataError, match="does not know where its graph was"):
        predict_links(unhot.load(tmp_path / "m"))
    assert str(tmp_path) not in (tmp_path / "m" / "v1" / "config.json").read_text()
    with pytest.raises(DataError, match="give the graph"):
        predict_links(unhot.GraphVectors(**SMALL, hold_out=0.2).fit(EDGES))
    with pytest.raises(ConfigError, match="hold_out"):
        predict_links(unhot.GraphVectors(**SMALL).fit(EDGES))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"p": 0}, "p=0"),
        ({"q": 1e9}, "q=1"),
        ({"hold_out": 1.0}, "hold_out"),
        ({"walks": 0}, "walks"),
        ({"output": "partition:size=17", "engine": "torch"}, "parts"),
    ],
)
def test_settings_that_are_refused(settings, match):
    with pytest.raises(ConfigError, match=match):
        unhot.GraphVectors(**settings)


def test_text_options_are_refused():
    with pytest.raises(TypeError, match="counts"):
        unhot.GraphVectors(**SMALL).fit(EDGES, counts={"n0": 1})
