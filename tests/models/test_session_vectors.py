"""Session vectors: every term of the loss does what it is for, on a shop whose truth is known."""

import numpy as np
import pytest
from grids import SOAK

import unhot
from unhot.data.shop import EXPENSIVE, make_shop, write_shop
from unhot.errors import ConfigError, DataError, FormatError
from unhot.models.load import load_unfinished
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import load_model, save_model

SHOP = make_shop(users=500, items=120, tastes=4, markets=3, noise=0.5, seed=2)
SMALL = {"dim": 8, "threads": 1, "epochs": 10, "window": 1, "session": "session", "user": "user"}
TYPES = {"booked": "booked", "user_type": "user_type", "item_type": "price"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    write_shop(SHOP, folder / "log.csv")
    return folder


def fitted(folder, **settings):
    return unhot.SessionVectors(**{**SMALL, **settings}).fit(folder / "log.csv")


def scores(model):
    """How much each item predicts each other one, in the order of the shop's items."""
    rows = [model.catalogue.index[item] for item in SHOP.items]
    params = model.learned.params
    return params.in_vectors[rows] @ params.out_vectors[rows].T


def far_pairs(mark):
    """Pairs of events of a session that no window joins: the other one has a mark, or has it not."""
    order = np.lexsort((SHOP.time, SHOP.session))
    session, item, marked = SHOP.session[order], SHOP.item[order], mark[order].astype(bool)
    found = {True: [], False: []}
    for gap in range(2, 12):
        for a, b in ((slice(None, -gap), slice(gap, None)), (slice(gap, None), slice(None, -gap))):
            same = (session[a] == session[b]) & (item[a] != item[b]) & ~marked[a]
            for kind in (True, False):
                here = same & (marked[b] == kind)
                found[kind].append(np.stack([item[a][here], item[b][here]]))
    return {kind: np.concatenate(pairs, axis=1) for kind, pairs in found.items()}


def gap(model, mark):
    """How much higher the scores of marked items are than those of others, as far away."""
    s, pairs = scores(model), far_pairs(mark)
    return s[tuple(pairs[True])].mean() - s[tuple(pairs[False])].mean()


def test_booked_items_are_near_their_whole_session(folder):
    assert gap(fitted(folder, booked="booked"), SHOP.booked) > gap(fitted(folder), SHOP.booked) + 0.05


def test_rejected_items_are_kept_apart(folder):
    assert gap(fitted(folder, rejected="rejected"), SHOP.rejected) < gap(fitted(folder), SHOP.rejected) - 0.05


def test_items_of_a_market_are_told_apart(folder):
    """How often an item of the same taste is above one of another taste, in the same market."""

    def order(model):
        s, right = scores(model), []
        for i in range(len(SHOP.items)):
            near = (SHOP.market_of == SHOP.market_of[i]) & (np.arange(len(SHOP.items)) != i)
            same = SHOP.taste_of == SHOP.taste_of[i]
            right.append((s[i][near & same][:, None] > s[i][near & ~same]).mean())
        return np.mean(right)

    assert (
        order(fitted(folder, market="market", items=str(folder / "items.csv"))) > order(fitted(folder)) + 0.02
    )


def wanted_less(model):
    """How much less new users go with expensive items than with cheap ones, compared with known users."""
    dear = {f"item:{price}" for price in range(EXPENSIVE, 5)}
    found = []
    for user in ("user:new", "user:known"):
        of = model.types.scores(user)
        prices = {word: score for word, score in of.items() if word.startswith("item:")}
        found.append(np.mean([prices[w] for w in dear]) - np.mean([prices[w] for w in prices.keys() - dear]))
    return found[0] - found[1]


def test_types_that_reject_a_user_are_far_from_its_type(folder):
    settings = {**TYPES, "epochs": 30}
    with_rejections = fitted(folder, **settings, rejected="rejected")
    assert wanted_less(with_rejections) < wanted_less(fitted(folder, **settings)) - 0.1


def test_types_recommend_items(folder, tmp_path):
    model = fitted(folder, **TYPES, rejected="rejected", items=str(folder / "items.csv"))
    assert set(model.types.vectors.words) == {
        "user:new", "user:known", *(f"item:{price}" for price in range(5))
    }  # fmt: skip
    found = model.items_for("new", 5)
    assert len(found) == 5
    assert found == sorted(found, key=lambda each: -each.score)
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m")
    assert loaded.items_for("new", 5) == found
    with pytest.raises(DataError, match="new, known|known, new"):
        model.items_for("old")
    with pytest.raises(DataError, match="no types"):
        fitted(folder).items_for("new")
    near = model.similar_to({"price": "4"}, 3)
    assert len(near) == 3


@pytest.mark.parametrize(
    "output",
    ["softmax", "hierarchical", "nce:k=5", "class_based", "sampled:k=5"] if SOAK else ["softmax", "nce:k=5"],
)
def test_bookings_go_with_every_layer(folder, output):
    model = fitted(folder, booked="booked", output=output, epochs=1)
    assert len(model.recommend(SHOP.items[:2], 5)) == 5


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"market": "market", "output": "softmax"}, "output=negative"),
        ({"rejected": "rejected", "output": "nce:k=5"}, "output=negative"),
        ({"item_type": "price"}, "name both"),
        ({"item_type": "price", "user_type": "user_type"}, "booked"),
        ({"engine": "torch"}, "compiled"),
        ({"market_k": 0}, "market_k"),
    ],
)
def test_settings_that_are_refused(settings, match):
    with pytest.raises(ConfigError, match=match):
        unhot.SessionVectors(**settings)


def test_columns_that_are_not_there(folder):
    with pytest.raises(DataError, match="market"):
        fitted(folder, market="nothing")
    with pytest.raises(DataError, match="booked"):
        fitted(folder, booked="nothing")


def test_a_training_goes_on_to_the_same_bytes(folder, tmp_path):
    settings = {**SMALL, **TYPES, "epochs": 3, "market": "market", "rejected": "rejected"}

    def stop(progress):
        if progress.event == "progress" and progress.epoch == 2:
            raise KeyboardInterrupt

    source = folder / "log.csv"
    whole = unhot.SessionVectors(**settings).fit(source)
    checkpoint = Checkpoint(path=tmp_path / "m", chunks=2)
    unhot.SessionVectors(**settings).fit(source, callbacks=[stop], checkpoint=checkpoint)
    resumed = load_unfinished(tmp_path / "m").resume()
    np.testing.assert_array_equal(resumed.vectors.vectors, whole.vectors.vectors)
    np.testing.assert_array_equal(resumed.types.out_vectors, whole.types.out_vectors)


@pytest.mark.parametrize("name", ["types.vectors", "types.counts", "types.starts"])
def test_damaged_types_are_refused(folder, tmp_path, name):
    model = fitted(folder, **TYPES, epochs=1)
    tensors = model.learned.tensors(complete=True)
    tensors[name] = tensors[name][:-1]
    model.save(tmp_path / "m")
    saved = load_model(tmp_path / "m")
    save_model(tmp_path / "m", saved.config, saved.vocabulary, tensors, saved.out_vocabulary)
    with pytest.raises(FormatError):
        unhot.load(tmp_path / "m")
