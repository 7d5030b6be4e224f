"""Code for KenLM's Python module runs with the import changed."""

import copy
import pickle
from pathlib import Path

import pytest

import unhot.compat.kenlm as kenlm
from tests.ngrams.texts import GOLDEN, LINES
from unhot import NGramModel

ARPA, BINARY = GOLDEN / "kn_modified.arpa", GOLDEN / "kenlm_probing.bin"


@pytest.fixture(params=["arpa", "binary", "folder"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> kenlm.Model:
    if request.param == "folder":
        NGramModel(order=3).fit(iter(LINES)).save(tmp_path / "model")
        return kenlm.Model(tmp_path / "model")
    return kenlm.Model(str(ARPA if request.param == "arpa" else BINARY), kenlm.Config())


def test_the_example_of_its_readme(model: kenlm.Model) -> None:
    assert model.order == 3
    sentence = "the cat sat on the unheard"
    scores = list(model.full_scores(sentence))
    assert sum(prob for prob, _, _ in scores) == pytest.approx(model.score(sentence), abs=1e-3)
    words = ["<s>", *sentence.split(), "</s>"]
    for i, (_, length, oov) in enumerate(scores):
        assert 1 <= length <= 3
        assert oov == (words[i + 1] not in model) == (words[i + 1] == "unheard")
    state, state2 = kenlm.State(), kenlm.State()
    model.BeginSentenceWrite(state)
    total = model.BaseScore(state, "the", state2)
    total += model.BaseScore(state2, "cat", state)
    assert total == pytest.approx(model.score("the cat", eos=False), abs=1e-6)
    total += model.BaseScore(state, "</s>", state2)
    assert total == pytest.approx(model.score("the cat"), abs=1e-6)
    assert model.perplexity("the cat") == pytest.approx(10 ** (-model.score("the cat") / 3))


def test_states(model: kenlm.Model) -> None:
    state, other = kenlm.State(), kenlm.State()
    assert state == other
    model.NullContextWrite(state)
    full = model.BaseFullScore(state, "the", other)
    assert full.log_prob == pytest.approx(model.score("the", bos=False, eos=False))
    assert (full.ngram_length, full.oov) == (1, False)
    assert model.BaseFullScore(state, "unheard", kenlm.State()).oov
    assert other != state
    same = kenlm.State()
    model.BaseScore(state, "the", same)
    assert same == other
    assert hash(same) == hash(other)
    assert copy.copy(same) == copy.deepcopy(same) == same
    # a state may be read and written at once
    model.BeginSentenceWrite(state)
    total = sum(model.BaseScore(state, word, state) for word in "the cat sat </s>".split())
    assert total == pytest.approx(model.score("the cat sat"), abs=1e-6)


def test_other_names(model: kenlm.Model) -> None:
    assert kenlm.LanguageModel is kenlm.Model
    assert "Model from" in repr(model)
    assert pickle.loads(pickle.dumps(model)).score("the cat") == model.score("the cat")
    config = kenlm.Config()
    config.load_method = kenlm.LoadMethod.LAZY
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    assert "the" in model
    assert "unheard" not in model
