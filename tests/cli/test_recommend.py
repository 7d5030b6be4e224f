"""The commands of `unhot recommend`, and what `unhot info` says about recommenders."""

import csv
import json
import re

import pytest
from commands import run

import unhot
from unhot.bench import recommenders
from unhot.data.shop import make_shop, write_shop
from unhot.errors import DataError
from unhot.evaluate.recommending import evaluate_recommender
from unhot.logs.encoding import read_log
from unhot.models.load import all_models, models_of

TOWERS = ("gru4rec", "mind", "sasrec", "sdm", "youtube-dnn")
SMALL = ("--dim", 8, "--epochs", 2, "--sample", 0, "--threads", 1)


def ok(*arguments):
    code, out, err = run("recommend", *arguments)
    assert code == 0, err
    return out


def refused(*arguments):
    """The message of a command that must fail without a traceback."""
    code, _, err = run("recommend", *arguments)
    assert code in (1, 2), err
    assert "this is a bug" not in err
    return " ".join(err.split())


def rows_of(path):
    return [*csv.DictReader(path.read_text().splitlines())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recommend")
    write_shop(make_shop(users=60, items=32, tastes=4, markets=1, seed=2), folder / "log.csv")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    """A model that keeps its log."""
    target = folder / "markov"
    how = (
        "--model",
        "skip-markov",
        "--split",
        "leave-last-out",
        "--with-users",
        "--items",
        folder / "items.csv",
    )
    ok("train", folder / "log.csv", "-o", target, *how)
    return target


@pytest.fixture(scope="module")
def vectors(folder):
    """An item2vec model that keeps no users."""
    target = folder / "item2vec"
    columns = ("--user", "user", "--item", "item", "--time", "time")
    ok("train", folder / "log.csv", "-o", target, *columns, "--split", "leave-last-out", "--refit", *SMALL)
    return target


def test_train_as_in_python(folder, model):
    how = {"split": "leave-last-out", "with_users": True, "items": str(folder / "items.csv")}
    expected = all_models()["skip-markov"](**how).fit(folder / "log.csv")
    assert unhot.load(model).recommend("u0001") == expected.recommend("u0001")


def test_train_says_what_it_read(folder, tmp_path):
    (tmp_path / "log.csv").write_text("user,item,time\nu,a,1\nu,,2\nu,b,x\nu,c,3\n")
    code, _, err = run(
        "recommend", "train", tmp_path / "log.csv", "-o", tmp_path / "m", "--model", "popularity"
    )
    assert code == 0
    assert "2 events of 1 users with 2 items" in err
    assert "2 of 4 rows are bad" in err
    assert "line 3: has no item" in err
    assert "line 4: has a time" in err
    assert "unhot recommend similar" in err


# the newest rows come first, as in many exports
NAMED_TIMES = "userId,movieId,rating,{}\n" + "".join(
    f"u{user},age{age},3,{100 - age}\n" for age in range(6) for user in range(3)
)


@pytest.mark.parametrize("name", ["ts", "unixReviewTime", "eventdate", "Order_Date", "event_ts", "t_dat"])
def test_more_names_of_times(tmp_path, name):
    (tmp_path / "log.csv").write_text(NAMED_TIMES.format(name))
    how = ("--model", "popularity", "--split", "leave-last-out")
    code, _, err = run("recommend", "train", tmp_path / "log.csv", "-o", tmp_path / "m", *how)
    assert code == 0, err
    assert f"columns: user = userId, item = movieId, time = {name}, weight = rating\n" in err
    learned = unhot.load(tmp_path / "m").catalogue.words
    assert sorted(learned) == ["age2", "age3", "age4", "age5"]  # the two newest are held out


@pytest.mark.parametrize("split", ["leave-last-out", "session"])
def test_rows_without_times_need_a_word_for_a_split(tmp_path, split):
    (tmp_path / "log.csv").write_text(NAMED_TIMES.format("moment"))
    train = ("train", tmp_path / "log.csv", "-o", tmp_path / "m", "--model", "popularity")
    said = refused(*train, "--split", split)
    assert "the columns are userId, movieId, rating, moment" in said
    assert "--in-order" in said
    assert "--in-order" in refused("compare", tmp_path / "log.csv", "--split", split, "-o", tmp_path / "c")
    ok(*train, "--split", split, "--time", "moment", "--share", 0.3)
    ok(*train, "--split", split, "--in-order", "--share", 0.3)
    code, _, err = run("recommend", *train)  # everything is learned from: nothing is held out
    assert code == 0
    assert "no times: the order of the rows counts; not used: moment" in err
    with pytest.raises(DataError, match="in_order=True"):
        all_models()["popularity"](split=split).fit([("u", "a"), ("u", "b"), ("u", "c")])


def test_lines_of_sessions_have_an_order(tmp_path):
    (tmp_path / "lines.txt").write_text("u a b c\nv b c d\nw c d a\n")
    for form in ("sessions", "user-sessions"):
        how = ("--format", form, "--split", "leave-last-out", "--model", "popularity")
        ok("train", tmp_path / "lines.txt", "-o", tmp_path / "m", *how)
        how = {"format": form, "split": "leave-last-out"}
        all_models()["popularity"](**how).fit([["u", "a", "b", "c"], ["v", "b", "c", "d"]])


@pytest.mark.parametrize("name", sorted(models_of("recommend").keys() - {"item2vec", "skip-markov"}))
def test_every_model_trains_and_is_evaluated(folder, name, tmp_path):
    more = ("--combine", "none") if name == "eges" else ()
    small = SMALL if name in ("session", "graph", "eges") else SMALL[:4] if name in TOWERS else ()
    how = ("--model", name, "--split", "leave-last-out", "-q", *small, *more)
    ok("train", folder / "log.csv", "-o", tmp_path / "m", *how)
    found = json.loads(ok("evaluate", tmp_path / "m", "--json"))
    assert (found["model"], found["learned_from"], found["users"]) == (name, "train", 60)
    assert 0 <= found["recall@10"] <= found["recall@20"] <= 1


def test_settings_of_one_model(folder, tmp_path):
    ok(
        "train",
        folder / "log.csv",
        "-o",
        tmp_path / "m",
        "--model",
        "itemknn",
        "--shrinkage",
        2.5,
        "--last",
        3,
    )
    found = unhot.load(tmp_path / "m")
    assert (found.shrinkage, found.last) == (2.5, 3)


def test_evaluate(folder, vectors):
    found = json.loads(ok("evaluate", vectors, "--json"))
    expected = evaluate_recommender(unhot.load(vectors), read_log(folder / "log.csv"))
    for name, value in expected.figures.items():
        assert found[name] == pytest.approx(value), name
    assert found["intervals"].keys() == expected.intervals.keys()
    assert (found["part"], found["split"], found["learned_from"]) == (
        "test",
        "leave-last-out",
        "train + validation",
    )
    assert (
        json.loads(ok("evaluate", vectors, folder / "log.csv", "--json"))["recall@10"] == found["recall@10"]
    )
    shown = ok("evaluate", vectors, "--at", "3", "--sampled", 5, "--keep-seen")
    assert "recall@3" in shown
    assert "sampled5_recall@3" in shown
    assert "recall@10" not in shown
    assert "items of the history ranked" in " ".join(shown.split())


def test_targets_that_are_excluded_are_counted(tmp_path):
    (tmp_path / "log.csv").write_text(
        "user,item,time\n" + "".join(f"u{u},{item},{t}\n" for u in range(4) for t, item in enumerate("abcda"))
    )
    ok(
        "train",
        tmp_path / "log.csv",
        "-o",
        tmp_path / "m",
        "--split",
        "leave-last-out",
        "--model",
        "popularity",
    )
    shown = " ".join(ok("evaluate", tmp_path / "m").split())
    assert "4 targets are in the history, which recommendations exclude: misses; --keep-seen ranks" in shown
    found = json.loads(ok("evaluate", tmp_path / "m", "--json"))
    assert (found["repeated"], found["recall@20"]) == (4, 0)
    kept = json.loads(ok("evaluate", tmp_path / "m", "--keep-seen", "--json"))
    assert (kept["repeated"], kept["recall@20"]) == (0, 1)
    compared = ok("compare", tmp_path / "log.csv", "--models", "popularity", "-o", tmp_path / "c")
    assert "4 targets are in the history" in " ".join(compared.split())


def test_evaluate_other_parts(model, vectors, tmp_path):
    assert json.loads(ok("evaluate", model, "--split", "validation", "--json"))["part"] == "validation"
    (tmp_path / "p.txt").write_text("i0001 i0002\ni0001 i0003 i0004\n")
    found = json.loads(ok("evaluate", model, "--prefixes", tmp_path / "p.txt", "--json"))
    assert (found["part"], found["cases"]) == ("prefixes", 2)
    assert "ask for the test" in refused("evaluate", vectors, "--split", "validation")


def test_for_users(folder, model, vectors):
    loaded = unhot.load(model)
    found = json.loads(ok("for", model, "u0001", "u0002", "-k", 3, "--json"))
    for user in ("u0001", "u0002"):
        assert found[user] == [each._asdict() for each in loaded.recommend(user, 3)]
    shown = ok("for", model, "u0001")
    assert loaded.recommend("u0001")[0].item in shown
    assert loaded.recommend("u0001")[0].name in shown  # names come from --items
    with_log = json.loads(ok("for", vectors, "u0001", "--log", folder / "log.csv", "--json"))
    history = [row["item"] for row in rows_of(folder / "log.csv") if row["user"] == "u0001"]
    assert {each["item"] for each in with_log["u0001"]}.isdisjoint(history)
    assert "holds no users" in refused("for", vectors, "u0001")


def test_one_that_is_unknown_does_not_spoil_the_others(model):
    code, out, err = run("recommend", "for", model, "u0001", "nobody", "u0002", "--json")
    assert code == 0
    assert "does not know them: nobody" in err
    found = json.loads(out)
    assert found["nobody"] == []
    assert (len(found["u0001"]), len(found["u0002"])) == (10, 10)
    code, out, err = run("recommend", "similar", model, "nothing", "i0001", "-k", 2)
    assert code == 0
    assert "does not know them: nothing" in err
    assert "similar to i0001" in out
    found = unhot.load(model).recommend_many(["nobody", ["i0001"], ["nothing"], "u0001"])
    assert [len(each) for each in found] == [0, 10, 0, 10]


def test_for_a_history(model, tmp_path):
    loaded = unhot.load(model)
    found = json.loads(ok("for", model, "--history", "i0001", "i0002", "--json"))
    assert found == {"i0001 i0002": [each._asdict() for each in loaded.recommend(["i0001", "i0002"])]}
    (tmp_path / "few.txt").write_text("i0003\n\ni0002\nnothing\n")
    few = json.loads(
        ok("for", model, "--history", "i0001", "i0002", "--filter", tmp_path / "few.txt", "--json")
    )
    assert [each["item"] for each in few["i0001 i0002"]] == ["i0003"]
    kept = ok("for", model, "--history", "i0001", "--keep-seen", "-k", 1000)
    assert "i0001" in kept
    code, _, err = run("recommend", "for", model, "--history", "i0001", "nothing")
    assert code == 0
    assert "does not know nothing" in err


def test_similar(vectors):
    loaded = unhot.load(vectors)
    found = json.loads(ok("similar", vectors, "i0001", "i0002", "-k", 4, "--json"))
    assert [each["item"] for each in found["i0002"]] == [each.item for each in loaded.similar("i0002", 4)]
    assert loaded.similar("i0001")[0].item in ok("similar", vectors, "i0001")


def test_nonsense_is_refused(folder, model, vectors, tmp_path):
    log, new = folder / "log.csv", tmp_path / "new"
    assert "no such column" in refused("train", log, "-o", new, "--user", "nobody")
    assert "no such recommender" in refused("compare", log, "--models", "skipgram", "-o", tmp_path / "c")
    assert "skipgram" in refused("train", log, "-o", new, "--model", "skipgram")
    assert "not of --model popularity" in refused(
        "train", log, "-o", new, "--model", "popularity", "--dim", 3
    )
    assert "refit" in refused("train", log, "-o", new, "--refit")
    assert "gone.csv" in refused("train", tmp_path / "gone.csv", "-o", new)
    assert "--history" in refused("for", model)
    assert "not both" in refused("for", model, "u0001", "--history", "i0001")
    assert "'nobody'" in refused("for", model, "nobody")
    assert "none of the 1 items" in refused("for", model, "--history", "nothing")
    assert "--filter" in refused("for", model, "u0001", "--filter", tmp_path / "gone.txt")
    (tmp_path / "none.txt").write_text("nothing\n")
    assert "nothing to recommend" in refused("for", model, "u0001", "--filter", tmp_path / "none.txt")
    assert "'nothing'" in refused("similar", model, "nothing")
    assert "whole numbers" in refused("evaluate", model, "--at", "5,x")
    assert refused("evaluate", model, "--at", "0")
    assert "complete" in refused("train", log, "--resume", vectors)
    unhot.SkipGram(dim=4, epochs=1, min_count=1, threads=1, sample=0).fit(["a b c"] * 9).save(
        tmp_path / "words"
    )
    assert "does not recommend" in refused("for", tmp_path / "words", "u")
    assert not new.exists()


def test_a_changed_log_is_told_and_the_kept_questions_stay(folder, tmp_path):
    (tmp_path / "log.csv").write_bytes((folder / "log.csv").read_bytes())
    how = ("--model", "popularity", "--split", "time", "--share", 0.1)
    ok("train", tmp_path / "log.csv", "-o", tmp_path / "m", *how)
    before = ok("evaluate", tmp_path / "m", "--json")
    with (tmp_path / "log.csv").open("a") as file:
        file.write("new,i0001,1,1,0,0,0,0,new\n")
    code, _, said = run("recommend", "evaluate", tmp_path / "m", tmp_path / "log.csv")
    assert code == 0
    assert "log.csv is not the log of the training" in said
    (tmp_path / "log.csv").unlink()
    figures = [
        json.loads(found) | {"milliseconds": 0}
        for found in (before, ok("evaluate", tmp_path / "m", "--json"))
    ]
    assert figures[0] == figures[1]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("popularity", (), "learned from all (split none); holds no users"),
        (
            "popularity",
            ("--split", "leave-last-out", "--refit", "--with-users"),
            "learned from train + validation (split leave-last-out); holds the log of 60 users",
        ),
        ("session-knn", ("--split", "time"), "holds {sessions} sessions without names of users"),
        ("item2vec", ("--users", "vector", *SMALL), "holds the names and vectors of 60 users"),
    ],
)
def test_info_says_what_is_held(folder, tmp_path, name, options, said):
    ok("train", folder / "log.csv", "-o", tmp_path / "m", "--model", name, *options)
    code, out, _ = run("info", tmp_path / "m")
    assert code == 0
    sessions = unhot.load(tmp_path / "m").learned.counted.starts.size - 1 if name == "session-knn" else 0
    assert said.format(sessions=sessions) in out
    found = json.loads(run("info", tmp_path / "m", "--json")[1])
    assert found["holds"] in out
    assert found["log"]["users"] == 60
    assert "labels" not in found


def test_resume(folder, tmp_path, monkeypatch):
    from unhot.models import item_vectors

    usual, asked = item_vectors.mean_ndcg, []

    def stop(answers, cases, **how):
        asked.append(cases)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return usual(answers, cases, **how)

    how = ("--split", "leave-last-out", *SMALL[:2], "--epochs", 4, *SMALL[4:])
    ok("train", folder / "log.csv", "-o", tmp_path / "straight", *how)
    monkeypatch.setattr(item_vectors, "mean_ndcg", stop)
    code, _, err = run("recommend", "train", folder / "log.csv", "-o", tmp_path / "m", *how)
    assert code == 130
    assert f"unhot recommend train --resume {tmp_path / 'm'}" in err
    assert f"unhot recommend train --resume {tmp_path / 'm'}" in run("info", tmp_path / "m")[1]
    monkeypatch.setattr(item_vectors, "mean_ndcg", usual)
    ok("train", "--resume", tmp_path / "m")
    assert "complete" in run("recommend", "train", "--resume", tmp_path / "m")[2]
    straight, again = unhot.load(tmp_path / "straight"), unhot.load(tmp_path / "m")
    assert again.recommend(["i0001"]) == straight.recommend(["i0001"])


# compare and demo


@pytest.fixture
def quick(monkeypatch):
    """Fewer settings, and what learns in epochs small."""
    grids = {name: (fits[:1], asks[:2]) for name, (fits, asks) in recommenders.GRIDS.items()}
    for name in ("item2vec", "session", "graph", "eges", *TOWERS):
        grids[name] = ([{"dim": 8, "epochs": 2}], grids.get(name, ([], [{}]))[1])
    monkeypatch.setattr(recommenders, "GRIDS", grids)


@pytest.mark.usefixtures("quick")
def test_compare(folder, tmp_path):
    columns = ("--booked", "booked", "--side", "price")
    shown = ok("compare", folder / "log.csv", "-o", tmp_path / "c", "--threads", 1, *columns)
    rows = rows_of(tmp_path / "c.csv")
    names = set(models_of("recommend"))
    assert {row["model"] for row in rows} == names
    assert {row["learned_from"] for row in rows} == {"train", "train + validation"}
    assert len(rows) == 2 * len(names)
    page = (tmp_path / "c.md").read_text()
    assert all(name in shown and f"| {name} |" in page for name in names)
    assert "c.svg" in page
    picture = (tmp_path / "c.svg").read_text()
    assert all(name in picture for name in names) or "<path" in picture
    # the table is ordered, and its figures are those of the file
    refits = [float(row["ndcg@10"]) for row in rows if row["learned_from"] == "train + validation"]
    assert refits == sorted(refits, reverse=True)
    assert f"{100 * refits[0]:.2f}" in page
    tested = evaluate_recommender(
        all_models()["popularity"](split="leave-last-out").fit(folder / "log.csv"),
        read_log(folder / "log.csv"),
    )
    fit = next(row for row in rows if row["model"] == "popularity" and row["learned_from"] == "train")
    assert float(fit["recall@20"]) == pytest.approx(tested.figures["recall@20"], abs=1e-6)


@pytest.mark.usefixtures("quick")
def test_compare_some_with_prefixes(folder, tmp_path, monkeypatch):
    (tmp_path / "p.txt").write_text("i0001 i0002\ni0003 i0004\n")
    monkeypatch.setattr(recommenders, "available_memory", lambda: 10)
    how = ("--split", "time", "--prefixes", tmp_path / "p.txt", "--keep-seen", "--json")
    out = ok("compare", folder / "log.csv", "--models", "popularity", "ease", "-o", tmp_path / "c", *how)
    found = {row["model"]: row for row in json.loads(out)["models"]}
    assert found["ease"]["failed"].startswith("left out: needs")
    assert (found["popularity"]["refit"]["cases"], found["popularity"]["refit"]["seen"]) == (2, "ranked")
    assert [row["failed"] != "" for row in rows_of(tmp_path / "c.csv")] == [
        False,
        False,
        True,
    ]


@pytest.mark.usefixtures("quick")
def test_ctrl_c_stops_a_comparison(folder, tmp_path, monkeypatch):
    from unhot.models import item_vectors

    def stop(answers, cases, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr(item_vectors, "mean_ndcg", stop)
    names = ("--models", "popularity", "item2vec", "skip-markov")
    code, out, _ = run("recommend", "compare", folder / "log.csv", "-o", tmp_path / "c", *names)
    assert code == 130
    assert "popularity" in out
    assert "skip-markov" not in out
    assert (tmp_path / "c.csv").exists()


def test_a_log_that_is_too_short(tmp_path):
    (tmp_path / "log.csv").write_text("user,item,time\nu,a,1\nu,b,2\n")
    assert "too short" in refused("compare", tmp_path / "log.csv", "-o", tmp_path / "c")


def test_demo(tmp_path):
    shown = ok("demo", "-o", tmp_path / "shop", "--customers", 50, "--threads", 1)
    shares = re.search(r"all items: (\d+) % share the true taste; by chance it would be (\d+) %", shown)
    assert shares
    assert int(shares[1]) > int(shares[2])
    assert all(name in shown for name in ("item2vec", "popularity", "skip-markov", "u0001 had"))
    ok("for", tmp_path / "shop" / "model", "u0001")
    ok("similar", tmp_path / "shop" / "model", "i0001")
    ok("evaluate", tmp_path / "shop" / "model")


@pytest.mark.parametrize("options", [("train", "-o", "m", "--model", "popularity"), ("compare",)])
def test_rows_that_are_left_out_are_told_also_with_q(options, tmp_path):
    rows = [f"u{n % 4},i{n % 3},{n}" for n in range(8)] + ["u1,,1"] * 24
    (tmp_path / "log.csv").write_text("user,item,time\n" + "\n".join(rows) + "\n")
    command, *rest = options
    said = run("recommend", command, "log.csv", *rest, "-q", cwd=tmp_path).stderr
    assert "24 of 32 rows are bad and were left out" in said
    assert "saved to" not in said


def test_quiet_commands_say_only_what_was_lost(tmp_path):
    """Which columns and which form of edges were recognized is no warning."""
    (tmp_path / "log.csv").write_text("user,item,time\nu,a,1\nu,b,2\nv,a,3\nv,,4\n")
    (tmp_path / "edges").write_text("# edges\na b 1\nb c 1\nc a 2\na d nan\n")
    log = run("recommend", "train", "log.csv", "-o", "m", "--model", "popularity", "-q", cwd=tmp_path)
    graph = run("graph", "train", "edges", "-o", "g", "--dim", 8, "--epochs", 1, "-q", cwd=tmp_path)
    for done in (log, graph):
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("1 of ")
        assert "columns: " not in done.stderr
        assert "edge list" not in done.stderr
