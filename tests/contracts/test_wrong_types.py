"""Something else where a text is expected: an error that says what was given and what is accepted."""

from pathlib import Path

import pytest

import unhot
from unhot.errors import UnhotError

MODELS = Path(__file__).parents[1] / "golden" / "models"
NO_TEXT = (5, 5.5, None, b"a b", [["a", "b"]], object())
NO_TEXTS = (5, None, b"a b", "a b", [5], [None], [b"a"], object())
SENTENCE = ("score", "full_scores", "state", "next_words", "entropy", "generate")
ASKED = [  # a model, its questions, what they do not take
    *((name, SENTENCE, NO_TEXT) for name in ("ngram", "neural-gru")),
    *((name, ("scores", "document_scores"), NO_TEXTS) for name in ("ngram", "neural-gru")),
    ("ngram", ("perplexity",), (5, None, b"a b", [5], [None], [b"a"], [[5]], object())),
    ("classifier", ("predict", "predict_proba", "decision_function"), NO_TEXTS),
    ("classifier", ("explain",), NO_TEXT),
    *((name, ("hidden", "predict_word"), NO_TEXTS) for name in ("cbow", "fasttext")),
    ("item2vec", ("similar",), NO_TEXT),
    ("item2vec", ("recommend", "recommend_many", "predict_word"), (5, None, b"a b", [5], [None], object())),
    ("itemknn", ("recommend", "recommend_many", "similar"), (5, None, b"a b", [5], [[1, 2]], object())),
    ("eges", ("explain", "similar"), NO_TEXT),
    ("session", ("items_for",), NO_TEXT),
]


@pytest.mark.parametrize(("name", "questions", "wrong"), ASKED)
def test_no_question_takes_something_else_for_a_text(name, questions, wrong):
    model = unhot.load(MODELS / name)
    for question in questions:
        for value in wrong:
            if question in ("hidden", "predict_word") and value == [5]:
                continue  # the number of a row
            with pytest.raises(UnhotError) as found:
                getattr(model, question)(value)
            inner = value
            while isinstance(inner, list):
                inner = inner[0]
            named = (repr(value)[:40], repr(inner)[:40], type(value).__name__, type(inner).__name__)
            assert any(each in str(found.value) for each in named), (question, value, found.value)
