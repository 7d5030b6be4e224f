"""Every public method of gensim: with the same parameters here, or named in the page."""

import inspect
from pathlib import Path

import pytest

from unhot.compat.gensim import KeyedVectors, Word2Vec

gensim = pytest.importorskip("gensim", reason="gensim is an oracle here")

PAGE = (Path(__file__).parents[2] / "docs" / "moving-from-gensim.md").read_text(encoding="utf-8")
THEIRS = {kind: getattr(gensim.models, kind.__name__) for kind in (Word2Vec, KeyedVectors)}
# gensim passes on whatever it is given: here is what takes it
TAKEN_BY = {
    (Word2Vec, "save"): gensim.utils.SaveLoad.save,
    (Word2Vec, "load"): gensim.utils.SaveLoad.load,
    (KeyedVectors, "save"): gensim.utils.SaveLoad.save,
    (KeyedVectors, "word_vec"): gensim.models.KeyedVectors.get_vector,
}


def public(kind):
    return sorted(name for name in dir(THEIRS[kind]) if not name.startswith("_"))


def methods():
    for kind, theirs in THEIRS.items():
        for name in ("__init__", *public(kind)):
            if hasattr(kind, name) and callable(getattr(theirs, name)):
                yield kind, name


def parameters(method):
    """Names and defaults, but for the `*args` and `**kwargs`."""
    every = inspect.signature(method).parameters.values()
    return [(one.name, one.default) for one in every if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


@pytest.mark.parametrize(("kind", "name"), list(methods()))
def test_parameters_have_the_same_names_order_and_defaults(kind, name):
    theirs = parameters(TAKEN_BY.get((kind, name), getattr(THEIRS[kind], name)))
    ours = parameters(getattr(kind, name))
    assert [one for one, _ in ours[: len(theirs)]] == [one for one, _ in theirs]
    assert [default or None for _, default in ours[: len(theirs)]] == [
        default or None for _, default in theirs
    ]  # () for [] and so on
    more = list(inspect.signature(getattr(kind, name)).parameters.values())[len(theirs) :]
    assert all(one.kind == one.KEYWORD_ONLY for one in more)


def test_most_methods_are_compared():
    assert len(list(methods())) >= 45


@pytest.mark.parametrize("kind", [Word2Vec, KeyedVectors])
def test_every_name_is_there_or_in_the_page(kind):
    assert not [name for name in public(kind) if not hasattr(kind, name) and f"`{name}`" not in PAGE]
