"""The classifier inside scikit-learn: the real library clones, searches, scores and stores it."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from grids import SOAK

import unhot
from unhot.errors import ConfigError, DataError

joblib = pytest.importorskip("joblib")
base = pytest.importorskip("sklearn.base")
model_selection = pytest.importorskip("sklearn.model_selection")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")
validation = pytest.importorskip("sklearn.utils.validation")

GOOD, BAD = "good great fine lovely".split(), "bad poor awful dull".split()
TEXTS = [f"the {word} film number {i % 7}" for i in range(12) for word in GOOD + BAD]
NAMES = np.array((["pos"] * 4 + ["neg"] * 4) * 12)
NEW = ["a good one", "how poor", ""]
SMALL = {"dim": 4, "threads": 1, "epochs": 10}


def classifier(**settings):
    return unhot.Classifier(**{**SMALL, **settings})


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(TEXTS, NAMES)


def test_clone(fitted):
    copy = base.clone(fitted.set_params())  # no setting: nothing is dropped
    fitted.predict(NEW)
    assert copy.get_params() == fitted.get_params()
    assert copy is not fitted
    odd = classifier(output="hierarchical", minn=2, maxn=3, class_weights={"pos": 2.0}, validation=0.25)
    assert base.clone(odd).get_params() == odd.get_params()


def test_a_clone_has_learned_nothing():
    model = classifier().fit(TEXTS, NAMES)
    validation.check_is_fitted(model)
    with pytest.raises(Exception, match="not fitted"):
        validation.check_is_fitted(base.clone(model))


def test_what_it_is():
    assert base.is_classifier(classifier())
    assert not base.is_regressor(classifier())


@pytest.mark.parametrize("kind", [str, int, float, bool])
def test_shapes_and_types(kind):
    truth = NAMES if kind is str else np.array([kind(name == "pos") for name in NAMES])
    model = classifier().fit(TEXTS, truth)
    assert model.classes_.tolist() == sorted(set(truth.tolist()))
    assert model.classes_.dtype == truth.dtype
    found = model.predict(NEW)
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == ((3,), truth.dtype)
    assert found[:2].tolist() == [truth[0], truth[4]]
    probabilities = model.predict_proba(NEW)
    assert probabilities.shape == (3, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (model.classes_[probabilities.argmax(axis=1)] == found).all()
    scores = model.decision_function(NEW)
    assert scores.shape == (3,)
    assert (model.classes_[(scores > 0).astype(int)] == found).all()
    assert model.score(TEXTS, truth) == 1.0


def test_three_labels():
    truth = np.arange(len(TEXTS)) % 8 // 3  # 0, 1, 2
    model = classifier(epochs=30).fit(TEXTS, truth)
    assert model.decision_function(NEW).shape == model.predict_proba(NEW).shape == (3, 3)
    assert model.predict_proba([]).shape == (0, 3)
    order = model.decision_function(NEW).argmax(axis=1)
    assert (order == model.predict_proba(NEW).argmax(axis=1)).all()


def test_pipeline():
    lower = preprocessing.FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipe = pipeline.Pipeline([("lower", lower), ("model", classifier())]).fit(TEXTS, NAMES)
    assert pipe.predict(["A GOOD ONE", "HOW POOR"]).tolist() == ["pos", "neg"]
    assert pipe.set_params(model__dim=5)["model"].dim == 5


def test_grid_search():
    """In processes of its own, if there is the time to start them."""
    grid = {"dim": [4, 8], "output": ["softmax", "one_vs_all"]}
    search = model_selection.GridSearchCV(
        classifier(), grid, cv=2, n_jobs=2 if SOAK else 1, error_score="raise"
    )
    search.fit(np.array(TEXTS), NAMES)
    assert set(search.best_params_) == {"dim", "output"}
    assert search.best_score_ == 1.0
    assert search.predict(NEW[:2]).tolist() == ["pos", "neg"]


def test_cross_validation():
    found = model_selection.cross_val_score(classifier(), TEXTS, NAMES, cv=3, error_score="raise")
    assert found.tolist() == [1.0] * 3
    lines = model_selection.cross_val_predict(classifier(), TEXTS, NAMES, cv=3, method="predict_proba")
    assert lines.shape == (len(TEXTS), 2)


def test_scorers(fitted):
    from sklearn.metrics import get_scorer

    for name in ("accuracy", "f1_macro", "neg_log_loss", "balanced_accuracy"):
        assert np.isfinite(get_scorer(name)(fitted, TEXTS, NAMES))
    truth = (NAMES == "pos").astype(int)
    assert get_scorer("roc_auc")(classifier().fit(TEXTS, truth), TEXTS, truth) == 1.0


def fitted_copy(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("calls", [0, 1, 100])
def test_store(tmp_path, calls):
    """Whatever has been asked before: what is made on demand is not stored."""
    model = classifier().fit(TEXTS, NAMES)
    many = TEXTS * calls
    before = model.predict_proba(NEW)
    model.predict(many)  # many texts load compiled code
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.predict_proba(NEW), before)
    assert again.classes_.tolist() == ["neg", "pos"]
    assert again.get_params() == model.get_params()
    assert len(pickle.dumps(again)) == len(pickle.dumps(model))


def test_a_model_from_disk_can_be_stored(tmp_path):
    classifier().fit(TEXTS, NAMES).save(tmp_path / "model")
    model = unhot.load(tmp_path / "model")
    np.testing.assert_array_equal(fitted_copy(model).predict_proba(NEW), model.predict_proba(NEW))


def test_an_untrained_model_can_be_stored():
    assert fitted_copy(classifier()).get_params() == classifier().get_params()


def test_set_params():
    model = classifier().fit(TEXTS, NAMES)
    assert model.set_params(dim=6, minn=2, maxn=4) is model
    assert (model.dim, model.subwords.maxn) == (6, 4)
    with pytest.raises(ConfigError, match="no such setting; the settings are .*word_ngrams"):
        model.set_params(windows=3)
    for wrong in ({"dim": 0}, {"output": "nope"}, {"weighting": "tf"}, {"validation": 2}):
        with pytest.raises(ConfigError):
            classifier().set_params(**wrong)


def test_a_wrong_setting_changes_nothing():
    model = classifier().fit(TEXTS, NAMES)
    before = model.get_params()
    with pytest.raises(ConfigError):
        model.set_params(epochs=3, dim=0)
    assert model.get_params() == before
    assert model.predict(NEW[:1]).tolist() == ["pos"]


def test_texts_are_checked(fitted):
    with pytest.raises(DataError, match="give a list of texts"):
        fitted.predict("one string")
    for wrong in (3, 0, None, b""):
        with pytest.raises(DataError, match="give strings"):
            fitted.predict(["a", wrong])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="give the column of its texts"):
        fitted.predict(pandas.DataFrame({"text": ["a", "b"]}))


def test_scikit_learn_is_not_imported():
    code = "import sys, unhot; unhot.Classifier(); print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
