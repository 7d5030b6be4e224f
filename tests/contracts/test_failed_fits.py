"""A fit that fails changes nothing: the model answers as before, and its next fit works."""

import sys
from pathlib import Path

import pytest
from every_model import TRAINED

import unhot
from unhot.models import model as skeleton
from unhot.train.checkpoint import Checkpoint

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from golden_answers import differences, plain  # noqa: E402
from golden_questions import queries  # noqa: E402

WITHOUT_EPOCHS = ("NGramModel", "Popularity", "RecentPopularity", "ItemKNN", "LastCosine", "EASE")
WITHOUT_EPOCHS += ("SkipMarkov", "SessionKNN", "SVD")


class Failure(Exception):
    """What goes wrong."""


class Fails:
    """Fails when something was called so often, or for the first event that fits."""

    def __init__(self, calls=0, event=None):
        self.calls, self.event, self.failed = calls, event, False

    def __call__(self, *given):
        self.calls -= 1
        if self.calls == 0 or (self.event is not None and self.event(given[0])):
            self.failed = True
            raise Failure


def answers(model):
    return plain(dict(queries(model)))


def first_lines(path, folder):
    """Copy the first lines of a file: another input of the same form."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    other = folder / path.name
    other.write_text("".join(lines[: len(lines) * 2 // 3]), encoding="utf-8")
    return other


@pytest.fixture(params=TRAINED)
def trained(request, tmp_path):
    source, settings = TRAINED[request.param]
    model = getattr(unhot, request.param)(**settings, threads=1).fit(source, note=lambda line: None)
    return model, first_lines(source, tmp_path), source


def test_a_fit_that_fails_changes_nothing(trained, tmp_path, monkeypatch):
    model, other, source = trained
    expected, notes = answers(model), []
    calls = len(_noted(type(model), model, other))
    failures = [{"note": Fails(calls=number)} for number in {1, calls // 2 or 1, calls}]  # reading, preparing
    if type(model).__name__ not in WITHOUT_EPOCHS:
        failures.append({"callbacks": [Fails(event=lambda progress: progress.event == "start")]})
        failures.append({"callbacks": [Fails(event=lambda progress: progress.event == "progress")]})
        failures.append(
            {"callbacks": [Fails(event=lambda each: each.event == "progress" and each.epoch == 2)]}
        )
    with pytest.raises(unhot.errors.UnhotError):
        model.fit(tmp_path / "missing.txt")
    assert answers(model) == expected
    for failure in failures:
        with pytest.raises(Failure):
            model.fit(other, **{"note": notes.append, **failure})
        assert answers(model) == expected, failure
    if type(model).__name__ not in WITHOUT_EPOCHS:
        checkpoint = Checkpoint(path=tmp_path / "model", chunks=1, minutes=None)
        with monkeypatch.context() as patched:
            patched.setattr(skeleton, "save_model", Fails(calls=1))
            with pytest.raises(Failure):
                model.fit(other, checkpoint=checkpoint, note=notes.append)
        assert answers(model) == expected
    assert differences(expected, answers(model.fit(source, note=notes.append))) == []


def _noted(kind, model, source):
    notes = []
    settings = {name: getattr(model, name) for name in model.settings()}
    kind(**settings).fit(source, note=notes.append)
    return notes
