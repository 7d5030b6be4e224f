"""EGES and item graphs: planted groups, side values, new items, saving, damage, going on after a stop."""

import json

import numpy as np
import pytest

import unhot
from unhot.data.shop import make_shop, shop_rows
from unhot.errors import ConfigError, DataError, FormatError
from unhot.logs.encoding import read_log
from unhot.models.load import load_unfinished
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import load_model, save_model

SHOP = make_shop(users=250, items=60, tastes=4, markets=1, sessions=4, clicks=6, noise=0.05, seed=3)
ROWS = [row[:3] for row in shop_rows(SHOP)]
TASTE = dict(zip(SHOP.items, SHOP.taste_of.tolist(), strict=True))
SMALL = {"dim": 8, "threads": 1, "epochs": 8}


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """A file of items: their tastes, a random colour, and some items that nobody clicked."""
    path = tmp_path_factory.mktemp("items") / "items.csv"
    colours = np.random.default_rng(1).integers(3, size=len(SHOP.items))
    rows = [f"{item},taste{TASTE[item]},c{c}" for item, c in zip(SHOP.items, colours, strict=True)]
    rows += [f"new{t},taste{t},c0|c1" for t in range(4)]
    path.write_text("item,taste,colour\n" + "\n".join(rows) + "\n")
    return str(path)


def agreement(model):
    pairs = [(item, other) for item in model.catalogue.words for other, *_ in model.similar(item, 5)]
    return np.mean([TASTE[a] == TASTE[b] for a, b in pairs])


@pytest.mark.parametrize(
    "settings",
    [{}, {"directed": False}, {"q": 0.5, "p": 2}, {"output": "softmax"}, {"answer": "alike"}],
    ids=str,
)
def test_walks_find_tastes(settings, tmp_path):
    model = unhot.ItemGraph(**{**SMALL, **settings}).fit(ROWS)
    assert agreement(model) > 0.7
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m")
    assert loaded.recommend(SHOP.items[:2], 3) == model.recommend(SHOP.items[:2], 3)


@pytest.mark.parametrize("combine", ["weighted", "mean", "none"])
def test_items_are_made_of_side_values(items, combine, tmp_path):
    model = unhot.EGES(**SMALL, items=items, side="taste,colour", combine=combine).fit(ROWS)
    assert agreement(model) > 0.6
    parts = model.explain(SHOP.items[0])
    assert sum(weight for _, weight in parts) == pytest.approx(1, rel=1e-5)
    names = {part for part, _ in parts}
    wanted = {SHOP.items[0], f"taste=taste{TASTE[SHOP.items[0]]}"} if combine != "none" else {SHOP.items[0]}
    assert wanted <= names
    assert len(parts) == (1 if combine == "none" else 3)
    if combine == "mean":
        assert [weight for _, weight in parts] == pytest.approx([1 / 3] * 3)
    rows = model.learned.params.in_vectors
    if combine == "none":
        np.testing.assert_array_equal(np.sort(model.vectors.vectors, axis=0), np.sort(rows, axis=0))
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m")
    assert loaded.explain(SHOP.items[0]) == parts
    stored = unhot.Vectors.load(tmp_path / "m")  # readers of vectors find those of items
    np.testing.assert_array_equal(stored.vectors, model.vectors.vectors)
    np.testing.assert_array_equal(loaded.vectors.vectors, model.vectors.vectors)


def test_weights_are_a_softmax_and_vectors_their_mean(items):
    model = unhot.EGES(**SMALL, items=items, side="taste,colour").fit(ROWS)
    item = SHOP.items[3]
    keys = {-1 - model.catalogue.index[item]} | {
        model.learned.record.kept.sides.words.index(part) for part, _ in model.explain(item) if part != item
    }
    weights = dict(model.explain(item))
    mean = np.zeros(8)
    for row, key in enumerate(model.learned.keys.tolist()):
        if key in keys:
            part = item if key < 0 else model.learned.record.kept.sides.words[key]
            mean += weights[part] * model.learned.params.in_vectors[row]
    np.testing.assert_allclose(model.vectors[item], mean, rtol=1e-4, atol=1e-6)
    assert np.ptp([*weights.values()]) > 1e-3  # they were learned


def test_new_items_are_near_their_taste(items):
    for model in (
        unhot.EGES(**SMALL, items=items, side="taste,colour").fit(ROWS),
        unhot.EGES(**SMALL, items=items, side="taste,colour", combine="mean").fit(ROWS),
        unhot.Item2Vec(**SMALL, items=items, side="taste,colour").fit(ROWS),
    ):
        for taste in range(4):
            near = model.similar_to({"taste": f"taste{taste}", "colour": ["c0"]}, 5)
            assert np.mean([TASTE[each.item] == taste for each in near]) > 0.6
            history = [item for item in SHOP.items if TASTE[item] == taste][:3]
            new = {f"new{t}": {"taste": f"taste{t}"} for t in range(4)}
            assert model.recommend_new(history, new, 2)[0].item == f"new{taste}"


def test_questions_that_cannot_be_answered(items):
    model = unhot.EGES(**SMALL, items=items, side="taste").fit(ROWS)
    with pytest.raises(DataError, match="none of taste=x"):
        model.new_item({"taste": "x"})
    with pytest.raises(ConfigError, match="mapping"):
        model.new_item(["taste"])
    with pytest.raises(ConfigError, match="at least one"):
        model.recommend_new([SHOP.items[0]], {})
    with pytest.raises(DataError, match="among the"):
        model.explain("nothing")
    with pytest.raises(DataError, match="no side values"):
        unhot.EGES(**SMALL).fit(ROWS)
    with pytest.raises(ConfigError, match="bias for each input"):
        unhot.EGES(output="nce:k=5,ln_z=per_input")
    with pytest.raises(ConfigError, match="compiled"):
        unhot.EGES(engine="torch")
    with pytest.raises(ConfigError, match="from scratch"):
        unhot.EGES(**SMALL, items=items).fit(ROWS, start=model)


def test_a_training_goes_on_to_the_same_bytes(items, tmp_path):
    settings = {**SMALL, "epochs": 3, "items": items, "side": "taste,colour"}
    log = tmp_path / "log.csv"
    log.write_text("user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in ROWS))

    def stop(progress):
        if progress.event == "progress" and progress.epoch == 2:
            raise KeyboardInterrupt

    whole = unhot.EGES(**settings).fit(log)
    unhot.EGES(**settings).fit(log, callbacks=[stop], checkpoint=Checkpoint(path=tmp_path / "m", chunks=2))
    resumed = load_unfinished(tmp_path / "m").resume()
    np.testing.assert_array_equal(resumed.learned.mixing, whole.learned.mixing)
    np.testing.assert_array_equal(resumed.vectors.vectors, whole.vectors.vectors)


def test_validation_keeps_the_best_epoch(items):
    model = unhot.EGES(**SMALL, items=items, side="taste", split="leave-last-out", patience=2).fit(ROWS)
    assert len(model.history.validation) >= 1
    assert model.recommend(SHOP.items[:1], 3)


@pytest.mark.parametrize("name", ["mixing", "side_ids", "side_starts", "side_row_keys"])
def test_damaged_side_values_are_refused(items, tmp_path, name):
    model = unhot.EGES(**SMALL, items=items, side="taste,colour").fit(ROWS)
    tensors = model.learned.tensors(complete=True)
    tensors[name] = tensors[name][:-1] if name != "side_ids" else tensors[name] + 1000
    model.save(tmp_path / "m")
    saved = load_model(tmp_path / "m")
    save_model(tmp_path / "m", saved.config, saved.vocabulary, tensors, saved.out_vocabulary)
    with pytest.raises(FormatError):
        unhot.load(tmp_path / "m")


def test_values_of_json_lists(tmp_path):
    path = tmp_path / "items.json"
    path.write_text(json.dumps({item: [f"t{TASTE[item]}"] for item in SHOP.items}))
    model = unhot.EGES(**SMALL, items=str(path)).fit(read_log(ROWS, items=path))
    assert f"attribute=t{TASTE[SHOP.items[0]]}" in dict(model.explain(SHOP.items[0]))
