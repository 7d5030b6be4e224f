"""Explanations: the shares of a line's pieces and the bias are the score that the output layer has."""

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

import unhot
from unhot.lines.explaining import line_pieces, shares, word_shares

TEXTS = [
    "good film really",
    "a fine film",
    "bad film",
    "poor poor acting",
    "dull and long",
    "what a day",
] * 10
LABELS = ["pos", "pos", "neg", "neg", "dull", "day"] * 10
SPECS = ["softmax", "softmax:bias=true,smoothing=0.1", "one_vs_all:bias=true", "hierarchical:bias=true"]
SPECS += ["class_based:classes=2,bias=true", "negative:k=5"]
ASKED = [
    "good film",
    "bad bad bad film",
    "unseen words only",
    "",
    "a </s> film",
    "poor goo\u00e9d",
    "film " * 40,
]


@pytest.fixture(scope="module", params=SPECS)
def model(request):
    cut = {"minn": 2, "maxn": 3, "word_ngrams": 3, "buckets": 200, "dim": 8, "min_count": 2}
    return unhot.Classifier(output=request.param, epochs=3, threads=1, **cut).fit(TEXTS, LABELS)


@pytest.mark.parametrize("text", ASKED, ids=lambda text: text[:20])
def test_shares_and_bias_are_the_score(model, text):
    hidden, _ = model.predictor.hidden(model.predictor.words_of(text))
    params, head = model.learned.params, model.head
    scores = params.out_vectors.astype(np.float64) @ hidden
    scores += params.out_bias if params.out_bias.size else 0.0
    for label in model.labels:
        found = model.explain(text, label)
        assert found.label == label
        assert found.probability == pytest.approx(
            dict(zip(model.classes_, model.predict_proba([text])[0], strict=True))[label]
        )
        rows = model.layer.decisions(model.labels.index(label), head.counts)
        assert [decision.name for decision in found.decisions] == [name for name, _, _ in rows]
        for decision, (_, row, sign) in zip(found.decisions, rows, strict=True):
            assert decision.score == pytest.approx(sign * scores[row], abs=1e-6)
            total = sum(piece.share for piece in decision.shares) + decision.bias
            assert total == pytest.approx(decision.score, abs=1e-6)
            by_word = word_shares(found.words, decision.shares)
            assert len(by_word) == len(found.words)
            assert sum(by_word) + decision.bias == pytest.approx(decision.score, abs=1e-6)


def test_probabilities_follow_from_the_decisions(model):
    """Of the layers whose decisions say all: a sigmoid for each node, or for the label."""
    name = model.layer.name
    for text in ASKED:
        for label in model.labels:
            found = model.explain(text, label)
            sigmoids = [1 / (1 + np.exp(-decision.score)) for decision in found.decisions]
            if name in ("hierarchical", "one_vs_all"):
                assert found.probability == pytest.approx(np.prod(sigmoids), abs=1e-6)


def test_without_a_label_it_is_the_most_probable(model):
    for text in ASKED[:2]:
        assert model.explain(text).label == model.predict([text])[0]


def test_the_share_of_a_word_is_what_is_gone_without_its_row(model):
    """A row of zeros has no share, and all others keep theirs."""
    predictor, text = model.predictor, "good film"
    words = predictor.words_of(text)
    pieces, out = line_pieces(predictor, words), np.ones(8)
    before = shares(predictor, pieces, out)
    place = next(i for i, piece in enumerate(pieces) if (piece.text, piece.kind) == ("good", "word"))
    matrix = predictor.model.rows.matrix
    kept = matrix[pieces[place].row].copy()
    h = predictor.hidden(words)[0].sum()
    matrix[pieces[place].row] = 0
    without = predictor.hidden(words)[0].sum()
    matrix[pieces[place].row] = kept
    assert before[place].share == pytest.approx(h - without, abs=1e-6)


KINDS = [
    {"maxn": 3, "longest": 3, "distinct": True, "weights": True, "power": 0.5, "keyed": True},
    {"maxn": 3, "longest": 2},
]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_have_the_rows_of_the_line(kind, make_predictor):
    predictor = make_predictor(**kind)

    @examples(40)
    @given(
        st.lists(st.sampled_from(["good", "film", "a", "unseen", "g", "</s>", "\u00e9t\u00e9"]), max_size=9)
    )
    def each(words):
        words = predictor.words_of(" ".join(words))
        pieces = line_pieces(predictor, words)
        assert sorted(piece.row for piece in pieces) == sorted(predictor.lines.rows(words).tolist())
        for piece in pieces:
            inside = " ".join(words[piece.first : piece.last + 1])
            assert piece.text in (inside if piece.kind != "n-gram" else f"<{inside}>")
            assert (piece.last > piece.first) == (piece.kind == "run")

    each()
