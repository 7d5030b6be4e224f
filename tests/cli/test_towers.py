"""Deep retrieval models from the command line: trained, resumed, shown, converted, asked, compared."""

import json
import re

import numpy as np
import pytest
from commands import run

pytest.importorskip("torch")

import unhot  # noqa: E402

ROWS = [
    (f"u{user}", f"i{(user + step) % 12}", 600 * user + 60 * step, ("tv", "web")[(user + step) % 2], step % 4)
    for user in range(24)
    for step in range(6)
]
SMALL = ("--dim", 8, "--epochs", 3, "--threads", 1, "--batch", 16, "--lr", 0.05, "-q")
COLUMNS = ("--features", "device,price", "--side", "brand")


def ok(*arguments):
    code, out, err = run(*arguments)
    assert code == 0, err
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("towers")
    lines = [
        f"{user},{item},{time},{device},{price or ''},b{item[-1]}" for user, item, time, device, price in ROWS
    ]
    (folder / "log.csv").write_text("\n".join(["user,item,time,device,price,brand", *lines]) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    """A model that keeps the questions of its split."""
    how = ("--model", "mind", "--output", "sampled:k=4", "--split", "leave-last-out", *COLUMNS, *SMALL)
    ok("recommend", "train", folder / "log.csv", "-o", folder / "model", *how)
    return folder / "model"


def test_train_as_in_python(folder, model):
    settings = {
        "output": "sampled:k=4",
        "split": "leave-last-out",
        "features": "device,price",
        "side": "brand",
    }
    settings |= {"dim": 8, "epochs": 3, "threads": 1, "batch": 16, "lr": 0.05}
    expected = unhot.MIND(**settings).fit(folder / "log.csv")
    found = unhot.load(model)
    asked = [[{"item": "i1", "device": "tv", "price": 3}], ["i1", "i2"]]
    assert np.array_equal(found.user_vectors(asked), expected.user_vectors(asked))


@pytest.mark.parametrize("more", [("--tie",), ("--no-tie",), ("--no-tie", "--output", "nce:k=3,bias=true")])
def test_convert_writes_both_kinds_of_vectors(folder, tmp_path, more):
    how = ("--model", "gru4rec", *SMALL, *(("--output", "softmax") if len(more) == 1 else ()), *more)
    ok("recommend", "train", folder / "log.csv", "-o", tmp_path / "m", *how)
    found = unhot.load(tmp_path / "m")
    vectors = {}
    for which, own in (("in", found.vectors), ("out", found.out_vectors)):
        ok("convert", tmp_path / "m", tmp_path / f"{which}.npy", "--which", which)
        vectors[which] = np.load(tmp_path / f"{which}.npy")
        assert np.array_equal(vectors[which], own.vectors)
        assert (tmp_path / f"{which}.words.txt").read_text().split() == own.words
    assert np.array_equal(vectors["in"], vectors["out"]) is (more[0] == "--tie")


def test_rows_that_are_no_items_are_no_vectors(folder, tmp_path):
    how = ("--model", "gru4rec", "--output", "hierarchical", *SMALL)
    ok("recommend", "train", folder / "log.csv", "-o", tmp_path / "m", *how)
    code, _, err = run("convert", tmp_path / "m", tmp_path / "out.npy", "--which", "out")
    assert code
    assert "the 11 output rows of layer 'hierarchical' are not vectors of its 12 words" in err


def test_info_and_verify(model):
    shown = ok("info", model)
    assert re.search(r"model +mind\n", shown)
    assert re.search(r"log +learned from train \(split leave-last-out\); holds no users\n", shown)
    assert "12 words" in ok("verify", model)
    told = json.loads(ok("info", model, "--json"))
    assert (told["features"], told["side"], told["interests"]) == ("device,price", "brand", 4)


def test_answers(folder, model):
    found = unhot.load(model)
    asked = json.loads(ok("recommend", "for", model, "--history", "i1", "i2", "-k", 3, "--json"))
    assert [each["item"] for each in asked["i1 i2"]] == [
        each.item for each in found.recommend(["i1", "i2"], 3)
    ]
    with unhot.read_log(folder / "log.csv", features=("device", "price")) as log:
        found.learn_users(log)
    asked = json.loads(
        ok("recommend", "for", model, "u3", "u4", "--log", folder / "log.csv", "-k", 3, "--json")
    )
    for user in ("u3", "u4"):
        assert [each["item"] for each in asked[user]] == [each.item for each in found.recommend(user, 3)]
    similar = json.loads(ok("recommend", "similar", model, "i1", "-k", 2, "--json"))["i1"]
    nearest = found.vectors.most_similar("i1", topn=2)
    assert [(each["item"], each["score"]) for each in similar] == [
        (item, pytest.approx(cosine)) for item, cosine in nearest
    ]


def test_evaluate_needs_no_log(folder, model):
    kept = json.loads(ok("recommend", "evaluate", model, "--json"))
    given = json.loads(ok("recommend", "evaluate", model, folder / "log.csv", "--json"))
    assert {**kept, "milliseconds": 0} == {**given, "milliseconds": 0}
    assert (kept["cases"], kept["unknown"]) == (24, 0)


def test_ctrl_c_and_resume(folder, tmp_path):
    how = ("--model", "sasrec", *SMALL[:2], "--epochs", 60, "--threads", 1, "--batch", 4)
    target = tmp_path / "m"
    code, _, err = run("recommend", "train", folder / "log.csv", "-o", target, *how, interrupt="epoch 1/")
    assert code == 130, err
    cut = unhot.load_unfinished(target)
    assert 0 < len(cut.history.losses) < 60
    ok("recommend", "train", "--resume", target, "-q")
    done = unhot.load(target)
    assert done.complete
    assert len(done.history.losses) == 60
    assert done.history.losses[: len(cut.history.losses)] == cut.history.losses
