"""The disk space of a model and its checkpoints, before a training starts."""

import pytest

import unhot
from unhot.errors import DataError
from unhot.train import checkpoint
from unhot.train.checkpoint import Checkpoint, DiskPlan

LINES = [[f"w{(i * i + j) % 50}" for j in range(10)] for i in range(200)]
SMALL = {"dim": 8, "min_count": 1, "epochs": 2, "threads": 1}
MODELS = [
    unhot.SkipGram(**SMALL),
    unhot.SkipGram(**SMALL, output="hierarchical"),
    unhot.FastText(**SMALL, buckets=200),
    unhot.GloVe(**SMALL),
    unhot.SVD(dim=8, min_count=1, oversampling=4),
]


@pytest.fixture
def free(monkeypatch):
    """Sets how much space a disk seems to have."""

    def set_to(size):
        monkeypatch.setattr(checkpoint, "free_space", lambda path: size)

    return set_to


def test_room_for_everything(tmp_path, free):
    free(10**9)
    said = DiskPlan(tmp_path, 10**6, 2 * 10**6).check()
    assert said == "disk: 1.0 MB for the model, 3.0 MB with a checkpoint; 1.0 GB free"
    assert DiskPlan(tmp_path, 10**6, 0).check() == "disk: 1.0 MB for the model; 1.0 GB free"


def test_room_for_the_model_only(tmp_path, free):
    free(2 * 10**6)
    plan = DiskPlan(tmp_path, 10**6, 10**6 + 1)
    assert plan.check().endswith("2.0 MB free; checkpoints will be left out until there is more room")
    with pytest.raises(DataError, match=r"the checkpoint and the model need 2\.0 MB there, but 2\.0 MB are"):
        plan.check_checkpoint()
    free(2 * 10**6 + 1)
    plan.check_checkpoint()


def test_no_room_for_the_model(tmp_path, free):
    free(10**6 - 1)
    message = f"{tmp_path}: the model will need 1.0 MB there, but 1.0 MB are free: make room, choose another"
    with pytest.raises(DataError, match=message):
        DiskPlan(tmp_path, 10**6, 0).check()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name}-{getattr(model, 'output', '')}")
def test_the_plan_is_what_the_saved_model_takes(model, tmp_path, monkeypatch):
    plans = []
    check = DiskPlan.check
    monkeypatch.setattr(DiskPlan, "check", lambda plan: plans.append(plan) or check(plan))
    folder = tmp_path / "model"
    model.fit(LINES, checkpoint=Checkpoint(path=folder, minutes=None, chunks=1))
    model.save(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*"))
    assert plans[0].folder == folder
    assert size <= plans[0].model <= size + checkpoint.ROUNDING
    assert plans[0].checkpoint >= plans[0].model


def test_a_training_without_room_is_refused_before_it_trains(tmp_path, free):
    events = []
    free(1000)
    with pytest.raises(DataError, match="the model will need"):
        unhot.SkipGram(**SMALL).fit(
            LINES, checkpoint=Checkpoint(path=tmp_path / "model"), callbacks=[events.append]
        )
    assert events == []
    assert list(tmp_path.iterdir()) == []
