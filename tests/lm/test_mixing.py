"""Mixtures of language models: weights, sums, words that a model lacks, files."""

import numpy as np
import pytest

import unhot
from unhot.errors import ConfigError, DataError, FormatError
from unhot.models.mixture import Mixture, learned_weights
from unhot.models.ngram_model import NGramModel
from unhot.vectors.formats.directory import load_model

ONE = ["a b c", "a b", "c c a", "", "b a"]
TWO = ["a d", "d d a", "a a", "d"]
BOTH = ["a b d", "a d", "c a", "zebra a"]


@pytest.fixture(scope="module")
def parts():
    how = {"order": 2, "smoothing": "witten_bell"}
    return [NGramModel(**how).fit(iter(ONE)), NGramModel(**how).fit(iter(TWO))]


@pytest.fixture(scope="module")
def mixture(parts):
    return Mixture.of(parts, BOTH)


def test_weights_are_those_of_the_formula():
    rng = np.random.default_rng(1)
    log10 = np.log10(rng.random((3, 200)))
    weights = learned_weights(log10)
    assert weights.sum() == pytest.approx(1)
    p = 10.0**log10
    best = np.log(weights @ p).mean()
    for _ in range(200):  # no other weights are better
        other = rng.dirichlet(np.ones(3))
        assert np.log(other @ p).mean() <= best + 1e-12
    again = (weights[:, None] * p / (weights @ p)).mean(axis=1)  # a fixed point
    assert again == pytest.approx(weights, abs=1e-6)


def test_weights_of_a_model_that_is_always_better():
    assert learned_weights(np.log10([[0.9, 0.8], [0.1, 0.2]])) == pytest.approx([1, 0], abs=1e-3)
    with pytest.raises(DataError, match="no token"):
        learned_weights(np.full((2, 3), -np.inf))


@pytest.mark.parametrize("context", ["", "a", "a b", "zebra", "d d"])
def test_probabilities_sum_to_one(mixture, context):
    scorer = mixture.scorer
    p = 10.0 ** scorer.log10_all(mixture.state(context))
    assert scorer.words == ["<unk>", "</s>", "a", "b", "c", "d"]
    assert p.sum() == pytest.approx(1, abs=1e-6)
    assert (p > 0).all()


def test_every_question_has_the_same_answer(mixture, parts):
    for line in BOTH:
        tokens = mixture.full_scores(line)
        assert mixture.score(line) == pytest.approx(sum(token.log10 for token in tokens))
        state, total = mixture.state(), 0.0
        for word in [*line.split(), "</s>"]:
            token, state = mixture.advance(state, word)
            total += token.log10
        assert total == pytest.approx(mixture.score(line))
    assert mixture.perplexity(BOTH).unknown == 1
    assert mixture.perplexity(BOTH).log10 == pytest.approx(sum(map(mixture.score, BOTH)))
    assert mixture.generate("a", seed=1, words=4) == mixture.generate("a", seed=1, words=4)
    known = "a"  # known to both: the mixture is the sum
    each = [10.0 ** model.full_scores(known)[0].log10 for model in parts]
    assert 10.0 ** mixture.full_scores(known)[0].log10 == pytest.approx(np.dot(mixture.weights, each))


def test_a_word_that_a_model_lacks_has_a_share_of_its_unknown_words(mixture, parts):
    first = parts[0].scorer
    p = 10.0 ** first.log10_all(first.begin())
    share = p[0] / 2  # of `<unk>` and d
    second = 10.0 ** parts[1].full_scores("d")[0].log10
    found = 10.0 ** mixture.full_scores("d")[0].log10
    assert found == pytest.approx(np.dot(mixture.weights, [share, second]))


def test_a_saved_mixture_is_the_same(mixture, tmp_path):
    mixture.save(tmp_path / "m")
    again = unhot.load(tmp_path / "m")
    assert again.perplexity(BOTH) == mixture.perplexity(BOTH)
    assert again.weights == mixture.weights
    assert again.complete
    nested = Mixture.of([again, NGramModel(order=1).fit(iter(ONE))], BOTH)
    nested.save(tmp_path / "n")
    assert unhot.load(tmp_path / "n").perplexity(BOTH) == nested.perplexity(BOTH)


def test_a_loaded_mixture_is_asked_on_so_many_threads(mixture, tmp_path):
    mixture.save(tmp_path / "m")
    for threads in (1, 3):
        again = unhot.load_language_model(tmp_path / "m", threads)
        assert again.scorer.threads == threads
        assert again.perplexity(BOTH) == mixture.perplexity(BOTH)


def test_with_a_neural_model(parts, tmp_path):
    pytest.importorskip("torch")
    neural = unhot.NeuralLM(dim=4, batch=2, steps=3, epochs=1, threads=1).fit(ONE * 5)
    mixed = Mixture.of([neural, parts[0]], BOTH)
    mixed.save(tmp_path / "m")
    again = unhot.load(tmp_path / "m")
    assert again.scorer.carries
    assert again.perplexity(BOTH) == mixed.perplexity(BOTH)
    assert again.perplexity(BOTH).log10 != mixed.perplexity(BOTH, carry=False).log10
    alone = min(model.perplexity(BOTH).perplexity for model in (neural, parts[0]))
    assert mixed.perplexity(BOTH).perplexity <= alone * (1 + 1e-6)


def test_what_cannot_be_mixed(mixture, parts, tmp_path):
    from unhot.lm.language_model import AskedModel

    with pytest.raises(ConfigError, match="give two or more"):
        Mixture.of(parts[:1], BOTH)
    with pytest.raises(ConfigError, match="give the ARPA file"):
        Mixture.of([AskedModel(parts[0].scorer), parts[1]], BOTH)
    with pytest.raises(ConfigError, match="made of trained models"):
        Mixture().fit(BOTH)
    mixture.save(tmp_path / "m")
    saved = load_model(tmp_path / "m")
    for wrong in ({"weights": [0.5]}, {"weights": [0.5, 2.0]}, {"weights": "ab"}, {"models": 7}):
        with pytest.raises(FormatError, match="mixture"):
            Mixture.from_saved(saved._replace(config={**saved.config, **wrong}))
    for gone in ("0.words", "1.counts", "0.starts"):
        tensors = {name: tensor for name, tensor in saved.tensors.items() if name != gone}
        with pytest.raises(FormatError, match="is damaged"):
            Mixture.from_saved(saved._replace(tensors=tensors))
    starts = np.array(saved.tensors["0.starts"])[::-1].copy()
    with pytest.raises(FormatError, match="do not belong together"):
        Mixture.from_saved(saved._replace(tensors={**saved.tensors, "0.starts": starts}))
