"""Commands with models whose words are made of n-grams.

Unseen words have vectors, and are said to be unseen.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

from unhot import Vectors
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import Subwords

MODEL = Path(__file__).parents[1] / "golden" / "fasttext_unsup_skipgram_ns.bin"
NOTE = "'{}' is not in the vocabulary: its vector is made of its n-grams"


@pytest.fixture
def table(tmp_path):
    """A table of floret."""
    rows = SubwordRows(
        Subwords(minn=3, maxn=4, buckets=30, scheme="floret", hashes=2),
        np.random.default_rng(0).standard_normal((30, 4), np.float32),
        np.zeros(0, np.int32),
    )
    SubwordVectors([], None, rows).save(tmp_path / "x.floret")
    return tmp_path / "x.floret"


def test_neighbors():
    code, out, err = run("neighbors", MODEL, "catty", "-n", 2)
    assert (code, err) == (0, NOTE.format("catty") + "\n")
    expected = Vectors.load(MODEL).most_similar("catty", topn=2)
    assert out.splitlines() == [f"{cosine:7.4f}  {word}" for word, cosine in expected]
    _, out, err = run("neighbors", MODEL, "cat", "-n", 2)
    assert err == ""


def test_neighbors_of_sums():
    """A query is cut at its signs, though as a whole it would have a vector, too."""
    vectors = Vectors.load(MODEL)
    assert "cat - catty + dogs" in vectors
    code, out, err = run("neighbors", MODEL, "cat", "-", "catty", "+", "dogs", "-n", 1)
    assert code == 0
    assert err.splitlines() == [NOTE.format("dogs"), NOTE.format("catty")]
    ((word, cosine),) = vectors.most_similar(["cat", "dogs"], ["catty"], topn=1)
    assert out == f"{cosine:7.4f}  {word}\n"


def test_neighbors_as_json():
    code, out, err = run("neighbors", MODEL, "catty", "cat", "--json", "-n", 1)
    first, second = map(json.loads, out.splitlines())
    assert (code, err) == (0, "")
    assert first["unseen"] == ["catty"]
    assert "unseen" not in second
    code, out, _ = run("neighbors", MODEL, "--json", text="catty\n</s>\n\u00e9t\u00e9s\n".encode())
    assert [json.loads(line).get("unseen") for line in out.splitlines()] == [
        ["catty"],
        None,
        ["\u00e9t\u00e9s"],
    ]


def test_a_word_without_ngrams_is_unknown():
    code, out, err = run("neighbors", MODEL, "cat", "")
    assert (code, out) == (1, "")
    assert "is not among the 60 words" in err


def test_analogy():
    code, out, err = run("analogy", MODEL, "cat", "catty", "dog", "-n", 1)
    assert (code, err) == (0, NOTE.format("catty") + "\n")
    assert out.startswith("cat is to catty as ? is to dog:")
    facts = json.loads(run("analogy", MODEL, "cat", "catty", "dog", "--json", "--method", "mul")[1])
    assert facts["unseen"] == ["catty"]
    assert "unseen" not in json.loads(run("analogy", MODEL, "cat", "river", "dog", "--json")[1])


def test_a_table_without_words_has_no_neighbours(table):
    for command in (("neighbors", table, "cat"), ("analogy", table, "cat", "catty", "dog")):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert "no words" in err


def test_info_of_ngrams(table, tmp_path):
    facts = json.loads(run("info", MODEL, "--json")[1])
    assert (facts["format"], facts["words"], facts["minn"], facts["maxn"], facts["buckets"]) == (
        "fasttext",
        60,
        3,
        6,
        1000,
    )
    assert (facts["used_buckets"], facts["rows"], facts["row_bytes"], facts["bytes"]) == (
        1000,
        1060,
        33920,
        MODEL.stat().st_size,
    )
    Vectors.load(MODEL).save(tmp_path / "model")
    own = json.loads(run("info", tmp_path / "model", "--json")[1])
    assert {name: own[name] for name in ("minn", "buckets", "used_buckets", "row_bytes")} == {
        name: facts[name] for name in ("minn", "buckets", "used_buckets", "row_bytes")
    }
    facts = json.loads(run("info", table, "--json")[1])
    assert (facts["format"], facts["words"], facts["scheme"], facts["hashes"], facts["rows"]) == (
        "floret",
        0,
        "floret",
        2,
        30,
    )
    pruned = json.loads(run("info", MODEL.with_name("fasttext_sup_softmax_pq_norm_cutoff.ftz"), "--json")[1])
    assert (pruned["used_buckets"], "row_bytes" in pruned) == (236, False)


def test_the_ngrams_of_a_word(table):
    code, out, err = run("info", MODEL, "--ngrams", "cat")
    assert (code, err) == (0, "")
    heading, own, *lines = out.splitlines()
    assert heading == "cat: in the vocabulary, 7 pieces"
    assert own.endswith("its own row 4")
    assert lines[0].startswith("<ca ")
    assert lines[0].endswith("bucket 747, row 807")
    facts = json.loads(run("info", MODEL, "--ngrams", "catty", "--json")[1])
    assert facts["seen"] is False
    assert [piece["piece"] for piece in facts["pieces"]] == Subwords().ngrams("catty")
    vectors = Vectors.load(MODEL)
    for piece, (_, vector) in zip(facts["pieces"], vectors.ngram_vectors("catty"), strict=True):
        assert piece["length"] == pytest.approx(np.linalg.norm(vector), abs=1e-5)
        cosine = vectors["catty"] @ vector / np.linalg.norm(vector) / np.linalg.norm(vectors["catty"])
        assert piece["cosine"] == pytest.approx(cosine, abs=1e-5)
    assert "bucket" in run("info", table, "--ngrams", "\u00e9t\u00e9")[1]


def test_buckets_without_rows_are_shown(tmp_path):
    subwords = Subwords(minn=3, maxn=3, buckets=2**31 - 1)
    keys = np.concatenate([[-1], subwords.ids("king")])
    rows = SubwordRows.of_keys(subwords, np.ones((len(keys), 2), np.float32), keys, 1)
    SubwordVectors(["king"], None, rows).save(tmp_path / "m")
    code, out, _ = run("info", tmp_path / "m", "--ngrams", "kings")
    assert code == 0
    assert out.splitlines()[-1].endswith("row -")
    assert json.loads(run("info", tmp_path / "m", "--ngrams", "kings", "--json")[1])["pieces"][-1][
        "rows"
    ] == [None]
    code, _, err = run("info", tmp_path / "m", "--ngrams", "pear")
    assert code == 1
    assert "is not among the 1 words" in err


def test_ngrams_of_words_that_have_none(tmp_path):
    Vectors(["a"], np.ones((1, 2), np.float32)).save(tmp_path / "m")
    code, _, err = run("info", tmp_path / "m", "--ngrams", "a")
    assert code == 1
    assert "not made of n-grams" in err


def test_convert_keeps_ngrams_where_it_can(table, tmp_path):
    code, out, err = run("convert", MODEL, tmp_path / "model")
    assert (code, out) == (0, "")
    assert "unhot, with n-grams" in err
    assert "with n-grams" in run("convert", tmp_path / "model", tmp_path / "x.bin", "--to", "fasttext")[2]
    for path in (tmp_path / "model", tmp_path / "x.bin"):
        np.testing.assert_array_equal(Vectors.load(path)["catty"], Vectors.load(MODEL)["catty"])
    assert "without n-grams" in run("convert", MODEL, tmp_path / "x.txt")[2]
    facts = json.loads(run("convert", MODEL, tmp_path / "y.txt", "--json", "--limit", 5)[1])
    assert (facts["words"], facts["ngrams"]) == (5, False)
    assert "30 rows of n-grams without words" in run("convert", table, tmp_path / "y.floret")[2]
    assert (tmp_path / "y.floret").read_bytes() == table.read_bytes()
    code, _, err = run("convert", MODEL, tmp_path / "z.floret")
    assert code == 2
    assert "scheme=floret" in err


def test_verify(table):
    for path in (MODEL, table):
        code, out, _ = run("verify", path)
        assert code == 0
        assert out.startswith("OK")


def test_evaluate(tmp_path):
    (tmp_path / "pairs.txt").write_text(
        "cat\tdog\t7\ncatty\tdog\t6\nriver\tpark\t3\nparks\tcats\t1\nmill\t</s>\t2\n"
    )
    code, out, _ = run("evaluate", MODEL, "--similarity", tmp_path / "pairs.txt", "--json")
    (plain,) = json.loads(out)["similarity"]
    (made,) = json.loads(
        run("evaluate", MODEL, "--similarity", tmp_path / "pairs.txt", "--unseen", "--json")[1]
    )["similarity"]
    assert code == 0
    assert (plain["unseen"], plain["pairs"], plain["unknown"]) == (False, 5, 2)
    assert (made["unseen"], made["pairs"], made["unknown"]) == (True, 5, 0)
    _, out, _ = run("evaluate", MODEL, "--similarity", tmp_path / "pairs.txt", "--unseen")
    assert "made of their n-grams" in out
    Vectors.load(MODEL)[:].save(tmp_path / "plain")
    code, _, err = run("evaluate", tmp_path / "plain", "--similarity", tmp_path / "pairs.txt", "--unseen")
    assert code == 2
    assert "unseen=True" in err
